#include "harness/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace capstan {
namespace {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

absl::StatusOr<SocketAddress> ParseUnix(const std::string& path) {
  SocketAddress result;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("path too long: ", path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  std::memcpy(&result.storage, &address, sizeof(address));
  result.size = sizeof(address);
  return result;
}

absl::StatusOr<SocketAddress> Parse(const std::string& text) {
  absl::string_view path = text;
  if (absl::ConsumePrefix(&path, "unix:")) return ParseUnix(std::string(path));
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  if (colon == std::string::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535 ||
      inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) !=
          1) {
    return absl::InvalidArgumentError(absl::StrCat("not an address: ", text));
  }
  address.sin_port = htons(static_cast<uint16_t>(port));
  SocketAddress result;
  std::memcpy(&result.storage, &address, sizeof(address));
  result.size = sizeof(address);
  return result;
}

absl::StatusOr<Descriptor> NewSocket(const SocketAddress& address) {
  Descriptor socket(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return ErrnoStatus("socket");
  return socket;
}

// Fails, harmlessly, on a Unix socket, which has no such delay.
void DisableDelay(const Descriptor& socket) {
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

absl::Status ErrnoStatus(const char* what) {
  return absl::ErrnoToStatus(errno, what);
}

absl::StatusOr<Descriptor> ConnectSocket(const std::string& address) {
  absl::StatusOr<SocketAddress> parsed = Parse(address);
  if (!parsed.ok()) return parsed.status();
  absl::StatusOr<Descriptor> socket = NewSocket(*parsed);
  if (!socket.ok()) return socket;
  if (connect(socket->get(), parsed->get(), parsed->size) != 0) {
    return ErrnoStatus("connect");
  }
  DisableDelay(*socket);
  return socket;
}

absl::StatusOr<Descriptor> ListenSocket(const std::string& address) {
  absl::StatusOr<SocketAddress> parsed = Parse(address);
  if (!parsed.ok()) return parsed.status();
  absl::StatusOr<Descriptor> socket = NewSocket(*parsed);
  if (!socket.ok()) return socket;
  if (bind(socket->get(), parsed->get(), parsed->size) != 0) {
    return ErrnoStatus("bind");
  }
  if (listen(socket->get(), SOMAXCONN) != 0) return ErrnoStatus("listen");
  return socket;
}

absl::StatusOr<Descriptor> AcceptSocket(const Descriptor& listener) {
  Descriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.get() < 0) return ErrnoStatus("accept");
  DisableDelay(socket);
  return socket;
}

absl::StatusOr<std::string> BoundAddress(const Descriptor& listener) {
  SocketAddress bound;
  bound.size = sizeof(bound.storage);
  if (getsockname(listener.get(), bound.get(), &bound.size) != 0) {
    return ErrnoStatus("getsockname");
  }
  if (bound.storage.ss_family == AF_UNIX) {
    sockaddr_un address;
    std::memcpy(&address, &bound.storage, sizeof(address));
    return absl::StrCat("unix:", address.sun_path);
  }
  sockaddr_in address;
  std::memcpy(&address, &bound.storage, sizeof(address));
  char host[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host));
  return absl::StrCat(host, ":", ntohs(address.sin_port));
}

}  // namespace capstan
