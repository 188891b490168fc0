// The network of real machines: TCP and Unix sockets, unencrypted. TLS is
// layered on top (transport/tls).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/async/clock.h"
#include "transport/stream.h"
#include "transport/tcp/peer_user.h"

namespace capstan {

// What TcpNetwork asks of the system; tests replace it. Thread-safe.
struct TcpSeams {
  std::function<absl::StatusOr<PeerUser>(int socket)> read_peer = ReadPeerUser;
  // The addresses of a host, as numbers. Null: the resolver's.
  std::function<std::vector<std::string>(const std::string& host)> look_up =
      nullptr;
};

// Addresses: "host:port", "[::1]:port" (port 0 to listen: the kernel chooses),
// or "unix:/path".
//
// If a host has several addresses, all are tried in turn: the next one when the
// one before has failed or has not answered for a quarter of a second (RFC
// 8305).
//
// A Unix socket's file is removed when its acceptor closes, and a file left
// behind by a dead process is replaced. Both ends check the other's user (see
// CheckPeerUser): Connect and Accept return PermissionDenied if the check
// fails. Thread-safe.
class TcpNetwork final : public Network {
 public:
  // `clock` must outlive the network.
  explicit TcpNetwork(Clock& clock, TcpSeams seams = {})
      : clock_(clock), seams_(std::move(seams)) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override;
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override;

 private:
  Clock& clock_;
  const TcpSeams seams_;
};

}  // namespace capstan
