#include "transport/tcp/tcp_network.h"

#include <sys/stat.h>
#include <unistd.h>

#include <asio/basic_socket_acceptor.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/event.h"
#include "base/file/open_files.h"
#include "base/refusal.h"
#include "base/status.h"
#include "transport/deadline_queue.h"
#include "transport/tcp/address.h"
#include "transport/tcp/socket_file.h"
#include "transport/tcp/socket_stream.h"

namespace capstan {
namespace {

using Tcp = asio::ip::tcp;
using Unix = asio::local::stream_protocol;

// A peer on this machine needs no large send buffer to hide latency, and bytes
// that do not fit into the core's cache only slow transfers down: 1 MiB is sent
// at 6.4 GB/s with this limit, at 3.0 GB/s with the kernel's maximum of 4 MiB
// (docs/performance.md).
constexpr int kLocalSendBuffer = 256 << 10;
// Enough for a restart storm of a thousand workers.
constexpr int kBacklog = 4096;
// How long to wait for an address before also trying the host's next one, as in
// RFC 8305.
constexpr Duration kNextAddress = std::chrono::milliseconds(250);

std::string ToText(const Tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return endpoint.address().is_v6()
             ? absl::StrCat("[", host, "]:", endpoint.port())
             : absl::StrCat(host, ":", endpoint.port());
}

// The error's message, with the remedy if one is known.
std::string TextOf(const asio::error_code& error) {
  const bool of_system = error.category() == asio::error::get_system_category();
  return absl::StrCat(error.message(),
                      of_system ? OpenFilesRemedy(error.value()) : "");
}

absl::Status CannotReach(const std::string& address,
                         const asio::error_code& error) {
  const std::string message =
      absl::StrCat("cannot connect to ", address, ": ", TextOf(error));
  // A Unix socket without a file has no listener either. (asio's category does
  // not map ENOENT to std::errc.)
  const asio::error_code no_file(ENOENT, asio::error::get_system_category());
  const bool refused =
      error == asio::error::connection_refused || error == no_file;
  return refused ? Refusal(message) : absl::UnavailableError(message);
}

void Tune(Tcp::socket& socket) {
  asio::error_code ignored;
  // Every write is at least a whole frame, so delaying it gains nothing.
  socket.set_option(Tcp::no_delay(true), ignored);
  const asio::ip::address peer = socket.remote_endpoint(ignored).address();
  if (peer.is_loopback() || peer == socket.local_endpoint(ignored).address()) {
    const asio::socket_base::send_buffer_size size(kLocalSendBuffer);
    socket.set_option(size, ignored);
  }
}
void Tune(Unix::socket&) {}

// The name of a peer that has connected, or an error if the peer may not.
absl::StatusOr<std::string> NameOfCaller(const TcpSeams&, Tcp::socket&,
                                         const Tcp::endpoint& peer) {
  return ToText(peer);
}
absl::StatusOr<std::string> NameOfCaller(const TcpSeams& seams,
                                         Unix::socket& socket,
                                         const Unix::endpoint&) {
  const absl::StatusOr<PeerUser> peer = seams.read_peer(socket.native_handle());
  if (!peer.ok()) return absl::PermissionDeniedError(peer.status().message());
  CAPSTAN_RETURN_IF_ERROR(CheckPeerUser(*peer, ::geteuid()));
  // A Unix client has no address.
  return absl::StrCat("process ", peer->process);
}

// Checks that this process may talk to the listener.
absl::Status CheckListener(const TcpSeams&, Tcp::socket&) {
  return absl::OkStatus();
}
absl::Status CheckListener(const TcpSeams& seams, Unix::socket& socket) {
  const absl::StatusOr<PeerUser> peer = seams.read_peer(socket.native_handle());
  CAPSTAN_RETURN_IF_ERROR(peer.status());
  return CheckPeerUser(*peer, ::geteuid());
}

template <typename Protocol>
class SocketAcceptor final : public Acceptor {
 public:
  using Socket = asio::basic_stream_socket<Protocol>;

  SocketAcceptor(const TcpSeams& seams,
                 asio::basic_socket_acceptor<Protocol> acceptor,
                 std::string address, SocketFile file)
      : state_(std::make_shared<State>(seams, std::move(acceptor),
                                       std::move(address), std::move(file))) {}
  ~SocketAcceptor() override { Close(); }

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor& executor) override {
    return AcceptFrom(state_, executor);
  }

  std::string address() const override { return state_->address; }

  void Close() override {
    if (state_->closed) return;
    state_->closed = true;
    // Remove the file first: without a listener, anybody may replace it.
    state_->file.Remove();
    asio::error_code ignored;
    state_->acceptor.close(ignored);
  }

 private:
  // Shared with an outstanding Accept, which may outlive the acceptor.
  struct State {
    State(const TcpSeams& seams_in,
          asio::basic_socket_acceptor<Protocol> acceptor_in,
          std::string address_in, SocketFile file_in)
        : seams(seams_in),
          acceptor(std::move(acceptor_in)),
          address(std::move(address_in)),
          file(std::move(file_in)) {}
    const TcpSeams seams;
    asio::basic_socket_acceptor<Protocol> acceptor;
    const std::string address;
    SocketFile file;
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
          absl::StrCat("cannot accept: ", TextOf(error)));
    }
    absl::StatusOr<std::string> name = NameOfCaller(state->seams, socket, peer);
    if (!name.ok()) co_return name.status();
    Tune(socket);
    co_return std::make_unique<SocketStream<Protocol>>(std::move(socket),
                                                       *std::move(name));
  }

  const std::shared_ptr<State> state_;
};

absl::Status CannotListen(const std::string& address,
                          const asio::error_code& error) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ", TextOf(error)));
}

absl::StatusOr<std::unique_ptr<Acceptor>> ListenOnTcp(
    const TcpSeams& seams, const Executor& executor,
    const Tcp::endpoint& endpoint, const std::string& address) {
  Tcp::acceptor acceptor(executor);
  asio::error_code error;
  acceptor.open(endpoint.protocol(), error);
  // So that a restarted task can take its old port again at once.
  const asio::socket_base::reuse_address reuse(true);
  if (!error) acceptor.set_option(reuse, error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error) return CannotListen(address, error);
  std::string bound = ToText(acceptor.local_endpoint());
  return std::make_unique<SocketAcceptor<Tcp>>(seams, std::move(acceptor),
                                               std::move(bound), SocketFile());
}

absl::StatusOr<std::unique_ptr<Acceptor>> ListenOnUnix(
    const TcpSeams& seams, const Executor& executor, const std::string& path,
    const std::string& address) {
  Unix::acceptor acceptor(executor);
  asio::error_code error;
  acceptor.open(Unix(), error);
  const SocketFolderLock lock(path);
  RemoveStaleSocket(path);
  if (!error) acceptor.bind(Unix::endpoint(path), error);
  if (error) return CannotListen(address, error);
  SocketFile file(path);
  // Before listening, so that other users never get a chance to connect.
  if (::chmod(path.c_str(), 0600) != 0) {
    error = asio::error_code(errno, asio::error::get_system_category());
  }
  if (!error) acceptor.listen(kBacklog, error);
  if (error) {
    file.Remove();
    return CannotListen(address, error);
  }
  return std::make_unique<SocketAcceptor<Unix>>(seams, std::move(acceptor),
                                                address, std::move(file));
}

// The endpoints of a host; numeric addresses are not looked up.
Task<absl::StatusOr<std::vector<Tcp::endpoint>>> Resolve(const TcpSeams& seams,
                                                         Executor executor,
                                                         HostPort where) {
  asio::error_code error;
  const asio::ip::address number = asio::ip::make_address(where.host, error);
  const auto port = static_cast<uint16_t>(std::stoi(where.port));
  if (!error) {
    co_return std::vector<Tcp::endpoint>(1, Tcp::endpoint(number, port));
  }
  std::vector<Tcp::endpoint> endpoints;
  if (seams.look_up) {
    for (const std::string& known : seams.look_up(where.host)) {
      endpoints.emplace_back(asio::ip::make_address(known), port);
    }
    co_return endpoints;
  }
  Tcp::resolver resolver(executor);
  const Tcp::resolver::results_type found = co_await resolver.async_resolve(
      where.host, where.port, asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    co_return absl::UnavailableError(
        absl::StrCat("cannot find host '", where.host, "': ", error.message()));
  }
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

// The attempts to connect to one host; the first to succeed wins.
template <typename Protocol>
struct Race {
  using Socket = asio::basic_stream_socket<Protocol>;

  explicit Race(const Executor& executor) : news(executor) {}

  std::vector<std::shared_ptr<Socket>> attempts;
  size_t failures = 0;
  asio::error_code error = asio::error::host_not_found;
  std::shared_ptr<Socket> winner;
  Event news;
};

template <typename Protocol>
Task<> Attempt(std::shared_ptr<Race<Protocol>> race,
               std::shared_ptr<typename Race<Protocol>::Socket> socket,
               typename Protocol::endpoint endpoint) {
  asio::error_code error;
  co_await socket->async_connect(
      endpoint, asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    ++race->failures;
    // A refusal, which comes from a live host, says more than a missing route.
    if (race->error != asio::error::connection_refused) race->error = error;
  } else if (race->winner == nullptr) {
    race->winner = socket;
  }
  race->news.Set();
}

template <typename Protocol>
Task<absl::StatusOr<std::unique_ptr<Stream>>> ConnectTo(
    const TcpSeams& seams, Clock& clock, Executor executor,
    std::vector<typename Protocol::endpoint> endpoints, std::string address,
    MonotonicTime deadline) {
  const auto race = std::make_shared<Race<Protocol>>(executor);
  DeadlineQueue deadlines(clock, executor);
  bool late = false;
  const DeadlineQueue::Registration limit(deadlines, deadline, [&late, race] {
    late = true;
    race->news.Set();
  });
  while (race->failures < endpoints.size() && !race->winner && !late) {
    const size_t failures = race->failures;
    const size_t next = race->attempts.size();
    if (next < endpoints.size()) {
      auto socket = std::make_shared<typename Race<Protocol>::Socket>(executor);
      race->attempts.push_back(socket);
      Spawn(executor,
            Attempt<Protocol>(race, std::move(socket), endpoints[next]));
    }
    const bool last = race->attempts.size() == endpoints.size();
    bool slow = false;
    const DeadlineQueue::Registration pace(
        deadlines, last ? kNever : clock.Now() + kNextAddress, [&slow, race] {
          slow = true;
          race->news.Set();
        });
    while (!race->winner && !late && !slow && race->failures == failures) {
      co_await race->news.Wait();
    }
  }
  for (const auto& socket : race->attempts) {
    asio::error_code ignored;
    if (socket != race->winner) socket->close(ignored);
  }
  const asio::error_code error = late ? asio::error::timed_out : race->error;
  if (!race->winner) co_return CannotReach(address, error);
  typename Race<Protocol>::Socket socket = std::move(*race->winner);
  const absl::Status checked = CheckListener(seams, socket);
  if (!checked.ok()) co_return WithContext(checked, address);
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
    std::vector<Unix::endpoint> endpoints(1, Unix::endpoint(*path));
    co_return co_await ConnectTo<Unix>(seams_, clock_, executor,
                                       std::move(endpoints), std::move(address),
                                       deadline);
  }
  absl::StatusOr<HostPort> where = ParseHostPort(address);
  if (!where.ok()) co_return where.status();
  absl::StatusOr<std::vector<Tcp::endpoint>> endpoints =
      co_await Resolve(seams_, executor, *std::move(where));
  if (!endpoints.ok()) co_return endpoints.status();
  co_return co_await ConnectTo<Tcp>(seams_, clock_, executor,
                                    *std::move(endpoints), std::move(address),
                                    deadline);
}

absl::StatusOr<std::unique_ptr<Acceptor>> TcpNetwork::Listen(
    const Executor& executor, const std::string& address) {
  if (IsUnixAddress(address)) {
    absl::StatusOr<std::string> path = ParseUnixPath(address);
    if (!path.ok()) return path.status();
    return ListenOnUnix(seams_, executor, *path, address);
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
  return ListenOnTcp(seams_, executor, found.begin()->endpoint(), address);
}

}  // namespace capstan
