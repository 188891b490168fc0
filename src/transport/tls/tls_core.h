// The state of a TlsStream and the coroutines that work on it.
//
// Use of the underlying stream: the handshake has it exclusively until done.
// Then Read reads, and the one that set flushing_ writes: Write itself or, so
// that all counted bytes are written, Flush in the background.
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

  // How long after Close the remaining output may take to be written.
  static constexpr Duration kLingerTime = std::chrono::seconds(2);

  TlsCore(Clock& clock, const Executor& executor,
          std::shared_ptr<const TlsCredentials> credentials, TlsRole role,
          std::unique_ptr<Stream> inner);

  // Starts the handshake. Call once.
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

  // Runs in the background, so that operations waiting for the handshake can be
  // interrupted without disturbing it.
  static Task<> RunHandshake(Self self);
  void EndHandshake(const absl::Status& status);
  // After a failed handshake, reads until the peer has received the reason and
  // closed: unread bytes from the peer would make TCP discard the reason.
  static Task<> Drain(Self self);

  // One read or write of the underlying stream.
  static Task<absl::Status> ReadInput(Self self);
  static Task<absl::Status> WriteOutput(Self self);

  // For Write: writes all output, unless interrupted.
  static Task<> FlushInline(Self self);
  // Makes sure that all output is written and, after Close, that the underlying
  // stream is then closed.
  static void StartFlush(const Self& self);
  static Task<> Flush(Self self);

  // OK if an operation may proceed; `failure` is its known error, if any.
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
  // The operation in progress must return.
  bool read_interrupted_ = false;
  bool write_interrupted_ = false;

  bool flushing_ = false;
  bool draining_ = false;
  // After Close, while there is output.
  std::optional<DeadlineQueue> linger_;
  // Nothing new may be started.
  bool context_gone_ = false;
  const ContextShutdown shutdown_;
};

}  // namespace capstan
