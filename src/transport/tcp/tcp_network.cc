#include "transport/tcp/tcp_network.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <asio/basic_socket_acceptor.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/refusal.h"
#include "transport/deadline_queue.h"
#include "transport/tcp/address.h"
#include "transport/tcp/socket_stream.h"

namespace capstan {
namespace {

using Tcp = asio::ip::tcp;
using Unix = asio::local::stream_protocol;

// To a peer on this machine there is no distance to fill with bytes under way;
// those that no longer fit the core's cache only make it slower. 1 MiB goes at
// 6.4 GB/s with this bound and at 3.0 with the 4 MiB that the kernel would go
// up to (docs/performance.md).
constexpr int kLocalSendBuffer = 256 << 10;
// Enough for a restart storm of a thousand workers.
constexpr int kBacklog = 4096;

std::string ToText(const Tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return endpoint.address().is_v6()
             ? absl::StrCat("[", host, "]:", endpoint.port())
             : absl::StrCat(host, ":", endpoint.port());
}

std::string ToText(const Unix::endpoint& endpoint) {
  return absl::StrCat("unix:", endpoint.path());
}

absl::Status CannotReach(const std::string& address,
                         const asio::error_code& error) {
  const std::string message =
      absl::StrCat("cannot connect to ", address, ": ", error.message());
  // A Unix socket without its file has no listener either.
  const bool refused = error == asio::error::connection_refused ||
                       error == std::errc::no_such_file_or_directory;
  return refused ? Refusal(message) : absl::UnavailableError(message);
}

void Tune(Tcp::socket& socket) {
  asio::error_code ignored;
  // Every write is a whole frame or more: waiting for the next gains nothing.
  socket.set_option(Tcp::no_delay(true), ignored);
  const asio::ip::address peer = socket.remote_endpoint(ignored).address();
  if (peer.is_loopback() || peer == socket.local_endpoint(ignored).address()) {
    const asio::socket_base::send_buffer_size size(kLocalSendBuffer);
    socket.set_option(size, ignored);
  }
}
void Tune(Unix::socket&) {}

template <typename Protocol>
class SocketAcceptor final : public Acceptor {
 public:
  using Socket = asio::basic_stream_socket<Protocol>;

  SocketAcceptor(asio::basic_socket_acceptor<Protocol> acceptor,
                 std::string address, std::string file)
      : state_(std::make_shared<State>(std::move(acceptor), std::move(address),
                                       std::move(file))) {}
  ~SocketAcceptor() override { Close(); }

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor& executor) override {
    return AcceptFrom(state_, executor);
  }

  std::string address() const override { return state_->address; }

  void Close() override {
    if (state_->closed) return;
    state_->closed = true;
    asio::error_code ignored;
    state_->acceptor.close(ignored);
    if (!state_->file.empty()) ::unlink(state_->file.c_str());
  }

 private:
  // Shared with an Accept under way, which may outlive the acceptor.
  struct State {
    State(asio::basic_socket_acceptor<Protocol> acceptor_in,
          std::string address_in, std::string file_in)
        : acceptor(std::move(acceptor_in)),
          address(std::move(address_in)),
          file(std::move(file_in)) {}
    asio::basic_socket_acceptor<Protocol> acceptor;
    const std::string address;
    const std::string file;
    bool closed = false;
  };

  static Task<absl::StatusOr<std::unique_ptr<Stream>>> AcceptFrom(
      std::shared_ptr<State> state, Executor executor) {
    Socket socket(executor);
    typename Protocol::endpoint peer;
    asio::error_code error = asio::error::operation_aborted;
    if (!state->closed) {
      co_await state->acceptor.async_accept(
          socket, peer, asio::redirect_error(asio::use_awaitable, error));
    }
    if (state->closed) {
      co_return absl::UnavailableError("the acceptor was closed");
    }
    if (error) {
      co_return absl::ResourceExhaustedError(
          absl::StrCat("cannot accept: ", error.message()));
    }
    Tune(socket);
    // A Unix client has no name of its own.
    std::string name = state->file.empty() ? ToText(peer) : state->address;
    co_return std::make_unique<SocketStream<Protocol>>(std::move(socket),
                                                       std::move(name));
  }

  const std::shared_ptr<State> state_;
};

template <typename Protocol>
absl::StatusOr<std::unique_ptr<Acceptor>> ListenAt(
    const Executor& executor, const typename Protocol::endpoint& endpoint,
    const std::string& address, std::string file) {
  asio::basic_socket_acceptor<Protocol> acceptor(executor);
  asio::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error && file.empty()) {
    // A restarted task takes its old port again at once.
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
  }
  if (!error) acceptor.bind(endpoint, error);
  if (!error && !file.empty() && ::chmod(file.c_str(), 0600) != 0) {
    error = asio::error_code(errno, asio::error::get_system_category());
  }
  if (!error) acceptor.listen(kBacklog, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": ", error.message()));
  }
  const std::string bound =
      file.empty() ? ToText(acceptor.local_endpoint()) : address;
  return std::make_unique<SocketAcceptor<Protocol>>(std::move(acceptor), bound,
                                                    std::move(file));
}

// Removes the socket file of a process that is gone: connecting to it is
// refused. One that answers, or is no socket, is left alone.
void RemoveStaleSocket(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  const int result =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
  if (result != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
  ::close(fd);
}

// The endpoints of a host; numbers are not looked up.
Task<absl::StatusOr<std::vector<Tcp::endpoint>>> Resolve(Executor executor,
                                                         HostPort where) {
  asio::error_code error;
  const asio::ip::address number = asio::ip::make_address(where.host, error);
  if (!error) {
    const auto port = static_cast<uint16_t>(std::stoi(where.port));
    co_return std::vector<Tcp::endpoint>(1, Tcp::endpoint(number, port));
  }
  Tcp::resolver resolver(executor);
  const Tcp::resolver::results_type found = co_await resolver.async_resolve(
      where.host, where.port, asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    co_return absl::UnavailableError(
        absl::StrCat("cannot find host '", where.host, "': ", error.message()));
  }
  std::vector<Tcp::endpoint> endpoints;
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

template <typename Protocol>
Task<absl::StatusOr<std::unique_ptr<Stream>>> ConnectTo(
    Clock& clock, Executor executor, typename Protocol::endpoint endpoint,
    std::string address, MonotonicTime deadline) {
  asio::basic_stream_socket<Protocol> socket(executor);
  DeadlineQueue deadlines(clock, executor);
  bool late = false;
  const DeadlineQueue::Registration limit(deadlines, deadline,
                                          [&socket, &late] {
                                            late = true;
                                            asio::error_code ignored;
                                            socket.close(ignored);
                                          });
  asio::error_code error;
  co_await socket.async_connect(
      endpoint, asio::redirect_error(asio::use_awaitable, error));
  if (late) error = asio::error::timed_out;
  if (error) co_return CannotReach(address, error);
  Tune(socket);
  co_return std::make_unique<SocketStream<Protocol>>(std::move(socket),
                                                     std::move(address));
}

}  // namespace

Task<absl::StatusOr<std::unique_ptr<Stream>>> TcpNetwork::Connect(
    Executor executor, std::string address, MonotonicTime deadline) {
  if (IsUnixAddress(address)) {
    absl::StatusOr<std::string> path = ParseUnixPath(address);
    if (!path.ok()) co_return path.status();
    const Unix::endpoint endpoint(*path);
    co_return co_await ConnectTo<Unix>(clock_, executor, endpoint, address,
                                       deadline);
  }
  absl::StatusOr<HostPort> where = ParseHostPort(address);
  if (!where.ok()) co_return where.status();
  absl::StatusOr<std::vector<Tcp::endpoint>> endpoints =
      co_await Resolve(executor, *std::move(where));
  if (!endpoints.ok()) co_return endpoints.status();
  absl::StatusOr<std::unique_ptr<Stream>> stream =
      absl::UnavailableError(absl::StrCat("host without address: ", address));
  for (const Tcp::endpoint& endpoint : *endpoints) {
    stream =
        co_await ConnectTo<Tcp>(clock_, executor, endpoint, address, deadline);
    if (stream.ok()) break;
  }
  co_return stream;
}

absl::StatusOr<std::unique_ptr<Acceptor>> TcpNetwork::Listen(
    const Executor& executor, const std::string& address) {
  if (IsUnixAddress(address)) {
    absl::StatusOr<std::string> path = ParseUnixPath(address);
    if (!path.ok()) return path.status();
    RemoveStaleSocket(*path);
    return ListenAt<Unix>(executor, Unix::endpoint(*path), address, *path);
  }
  absl::StatusOr<HostPort> where = ParseHostPort(address);
  if (!where.ok()) return where.status();
  asio::io_context lookup;
  asio::error_code error;
  Tcp::resolver resolver(lookup);
  const Tcp::resolver::results_type found =
      resolver.resolve(where->host, where->port, Tcp::resolver::passive, error);
  if (error || found.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "cannot find host '", where->host, "': ", error.message()));
  }
  return ListenAt<Tcp>(executor, found.begin()->endpoint(), address, "");
}

}  // namespace capstan
