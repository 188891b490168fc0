// TLS 1.3 over another network: the same addresses, encrypted and
// authenticated.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "transport/stream.h"
#include "transport/tls/tls_context.h"

namespace capstan {

// Thread-safe.
class TlsNetwork final : public Network {
 public:
  // Both must outlive the network, its streams and its acceptors.
  TlsNetwork(Network& inner, const TlsContext& context)
      : inner_(inner), context_(context) {}

  // Returns when the handshake is done. Besides the errors of Network:
  // Unauthenticated if the peer is not who it should be (see tls_stream.h).
  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override;

  // Accept does not wait for the handshake, so a slow client delays nobody
  // else; the stream's first operation returns the handshake's error.
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override;

 private:
  Network& inner_;
  const TlsContext& context_;
};

}  // namespace capstan
