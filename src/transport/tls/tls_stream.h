// TLS 1.3 over any Stream.
//
// The handshake runs in the background from the beginning. Operations wait for
// it, and its failure is theirs. So a server gets a stream from Accept at once,
// and a slow or hostile client holds up nobody else; whoever reads first from
// an accepted stream should have a time limit.
//
// Errors, besides those of Stream: Unauthenticated if one side does not accept
// the other's certificate or the other does not speak TLS 1.3. A client learns
// that the server refused it at its first read, as TLS 1.3 has it. A connection
// that ends without the peer having closed it, be it cut by accident or by an
// attacker, is reported as such (Unavailable, "cut off").
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

// Counted plain text is encrypted when WriteSome returns, and is written to the
// stream below even if nothing else is called any more; after Close, for at
// most TlsCore::kLingerTime.
class TlsStream final : public Stream {
 public:
  // `inner` lives on `executor`, where from now on the handshake runs.
  // `context` is used here only; its clock must outlive the stream and the
  // executor's context.
  TlsStream(const Executor& executor, const TlsContext& context, TlsRole role,
            std::unique_ptr<Stream> inner);
  ~TlsStream() override;

  // Waits for the handshake. Unavailable, and closed, if it is not done by
  // `deadline`. Not while an operation is under way.
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
  // Shared with the operations under way and with what goes on by itself: the
  // handshake, and writing what was counted.
  const std::shared_ptr<TlsCore> core_;
};

}  // namespace capstan
