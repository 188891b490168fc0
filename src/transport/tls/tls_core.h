// The state of a TlsStream and the coroutines that work on it.
//
// Who uses the stream below: the handshake alone until it is done; then Read
// reads, and whoever has set flushing_ writes, which is Write itself or, so
// that nothing that was counted stays behind, Flush in the background.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/async/waiter.h"
#include "transport/context_shutdown.h"
#include "transport/deadline_queue.h"
#include "transport/stream.h"
#include "transport/tls/tls_session.h"

namespace capstan {

// Lives on one executor. Its coroutines keep it alive.
class TlsCore {
 public:
  using Self = std::shared_ptr<TlsCore>;

  // The time after Close for what is still to be written.
  static constexpr Duration kLingerTime = std::chrono::seconds(2);

  TlsCore(Clock& clock, const Executor& executor,
          std::shared_ptr<const TlsCredentials> credentials, TlsRole role,
          std::unique_ptr<Stream> inner);

  // Begins the handshake. Call once.
  static void Start(const Self& self);

  // As the methods of TlsStream.
  static Task<absl::Status> Handshake(Self self, MonotonicTime deadline);
  static Task<absl::StatusOr<size_t>> Read(Self self,
                                           std::span<const MutableBytes> into);
  static Task<absl::StatusOr<size_t>> Write(Self self,
                                            std::span<const Bytes> from);
  void Interrupt();
  static void Close(const Self& self);

  std::string peer_address() const { return inner_->peer_address(); }
  const std::string& peer_names() const { return session_.peer_names(); }

 private:
  enum class State { kHandshaking, kOpen, kFailed };

  // In the background: operations that wait for it can be interrupted without
  // disturbing it.
  static Task<> RunHandshake(Self self);
  void EndHandshake(const absl::Status& status);
  // After a failed handshake, until the peer has read why and closed: bytes of
  // the peer left unread would make TCP throw the reason away.
  static Task<> Drain(Self self);

  // One read or write of the stream below.
  static Task<absl::Status> ReadInput(Self self);
  static Task<absl::Status> WriteOutput(Self self);

  // For Write: all output that there is, unless interrupted.
  static Task<> FlushInline(Self self);
  // Sees to it that all output is written and, after Close, that the stream
  // below is then closed.
  static void StartFlush(const Self& self);
  static Task<> Flush(Self self);

  // OK if an operation may go on, of which `failure` says what is known.
  absl::Status Usable(const absl::Status& failure) const;

  Clock& clock_;
  const Executor executor_;
  const std::unique_ptr<Stream> inner_;
  TlsSession session_;
  State state_ = State::kHandshaking;
  bool closed_ = false;
  // Why no more can be read, or written.
  absl::Status read_failure_;
  absl::Status write_failure_;

  // Where Read and Write wait for the handshake, and Write for Flush.
  Waiter reader_;
  Waiter writer_;
  // The operation under way is to return.
  bool read_interrupted_ = false;
  bool write_interrupted_ = false;

  bool flushing_ = false;
  bool draining_ = false;
  // After Close, while there is output.
  std::optional<DeadlineQueue> linger_;
  // Nothing can be started any more.
  bool context_gone_ = false;
  const ContextShutdown shutdown_;
};

}  // namespace capstan
