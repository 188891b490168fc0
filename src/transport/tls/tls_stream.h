// TLS 1.3 over any Stream.
//
// The handshake starts in the background on construction. Operations wait for
// it and fail if it fails. A server therefore gets a stream from Accept at
// once, and a slow or hostile client delays nobody else; set a time limit on
// the first read from an accepted stream.
//
// Errors, besides those of Stream: Unauthenticated if one side does not accept
// the other's certificate or the other does not speak TLS 1.3. A client learns
// only at its first read that the server refused it; this is how TLS 1.3 works.
// A connection that ends without the peer having closed it, whether by accident
// or by an attacker, is reported as such (Unavailable, "cut off").
#pragma once

#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "transport/stream.h"
#include "transport/tls/tls_context.h"

namespace capstan {

class TlsCore;

// When WriteSome returns, the bytes it counts are encrypted, and are written to
// the underlying stream without further calls; after Close, for at most
// TlsCore::kLingerTime.
class TlsStream final : public Stream {
 public:
  // `inner` lives on `executor`, on which the handshake starts now. `context`
  // is used only in the constructor; its clock must outlive the stream and the
  // executor's context.
  TlsStream(const Executor& executor, const TlsContext& context, TlsRole role,
            std::unique_ptr<Stream> inner);
  ~TlsStream() override;

  // Waits for the handshake. If it is not done by `deadline`, closes the stream
  // and returns Unavailable. Do not call while an operation is in progress.
  Task<absl::Status> Handshake(MonotonicTime deadline);

  Task<absl::StatusOr<size_t>> ReadSome(
      std::span<const MutableBytes> into) override;
  Task<absl::StatusOr<size_t>> WriteSome(std::span<const Bytes> from) override;
  void Interrupt() override;
  void Close() override;
  std::string peer_address() const override;
  // Empty until the handshake is done.
  std::optional<std::string> peer_certificate() const override;

 private:
  // Shared with outstanding operations and with background work: the handshake,
  // and writing what was counted.
  const std::shared_ptr<TlsCore> core_;
};

}  // namespace capstan
