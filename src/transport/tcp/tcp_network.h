// The network of real machines: TCP and Unix sockets, plain. TLS goes on top
// (transport/tls).
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "transport/stream.h"

namespace capstan {

// Addresses: "host:port", "[::1]:port" (port 0 to listen: the kernel chooses),
// or "unix:/path". A Unix socket's file is removed when its acceptor closes,
// and a file left behind by a dead process is replaced. Thread-safe.
class TcpNetwork final : public Network {
 public:
  // `clock` must outlive the network.
  explicit TcpNetwork(Clock& clock) : clock_(clock) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override;
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override;

 private:
  Clock& clock_;
};

}  // namespace capstan
