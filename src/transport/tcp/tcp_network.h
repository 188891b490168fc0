// The network of real machines: TCP and Unix sockets, plain. TLS goes on top
// (transport/tls).
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

// What a network asks the system for, and a test does not. Thread-safe.
struct TcpSeams {
  std::function<absl::StatusOr<PeerUser>(int socket)> read_peer = ReadPeerUser;
  // The addresses of a host, as numbers. Null: the resolver's.
  std::function<std::vector<std::string>(const std::string& host)> look_up =
      nullptr;
};

// Addresses: "host:port", "[::1]:port" (port 0 to listen: the kernel chooses),
// or "unix:/path".
//
// A host with several addresses is tried at all of them: at the next one when
// one has failed, or has not answered for a quarter of a second (RFC 8305).
//
// A Unix socket's file is removed when its acceptor closes, and a file left
// behind by a dead process is replaced. Both ends look who the other is (see
// CheckPeerUser): Connect and Accept return PermissionDenied if it is another
// user. Thread-safe.
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
