// One request being served, as the Service sees it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "transport/byte_budget.h"
#include "transport/deadline_queue.h"
#include "transport/frame_reader.h"
#include "wire/service.h"

namespace capstan {

class ServerConnection;

// Lives on its connection's executor; the connection outlives it.
class ConnectionCall final : public ServerCall {
 public:
  // The caller's `timeout` runs from `arrived`, and restarts with every byte of
  // the attachments.
  ConnectionCall(ServerConnection& connection, const FrameHeader& header,
                 MessagePrefix prefix, MonotonicTime arrived, Duration timeout);

  Method method() const override { return static_cast<Method>(header_.code); }
  std::string_view body() const override { return prefix_.body; }
  const Hello& peer() const override;
  MonotonicTime deadline() const override;
  uint64_t reply_limit() const override { return header_.reply_limit; }
  bool cancelled() const override;
  void OnCancel(std::function<void()> listener) override;
  std::span<const uint64_t> attachment_sizes() const override {
    return prefix_.lengths;
  }
  Task<absl::Status> Receive(MutableBytes into) override;
  Task<absl::StatusOr<Buffer>> ReceiveAll() override;

  // For the connection:
  uint64_t id() const { return header_.request_id; }
  // The bytes that the call was admitted with.
  uint64_t head_bytes() const { return head_bytes_.bytes(); }
  // The bytes that ReceiveAll holds.
  uint64_t body_bytes() const { return body_bytes_.bytes(); }
  // The inline attachments; filled before the call is served.
  Buffer& inline_data() { return inline_data_; }
  // The caller disconnected or cancelled, or the deadline passed.
  void Cancel(absl::Status why);
  // The rest of the attachments will not come.
  void Abort(absl::Status why);
  // The stream's next `bytes` bytes are a piece that Receive may read.
  void OfferPiece(uint64_t bytes);
  uint64_t piece_left() const { return piece_left_; }
  // Bytes of the attachments whose pieces have not arrived yet.
  uint64_t unannounced() const { return unannounced_; }
  // Serve has returned.
  void Finish() { finished_ = true; }
  bool finished() const { return finished_; }
  // The caller cancelled or disconnected: nobody is waiting for an answer.
  bool caller_gone() const {
    return !cancel_reason_.ok() && !absl::IsDeadlineExceeded(cancel_reason_);
  }
  // The entry of the watched deadline, if any.
  std::optional<DeadlineQueue::Key>& deadline_key() { return deadline_key_; }
  void Hold(HeldBytes bytes) { head_bytes_ = std::move(bytes); }

 private:
  ServerConnection& connection_;
  const FrameHeader header_;
  const MessagePrefix prefix_;
  const Duration timeout_;
  MonotonicTime last_received_;
  bool receiving_ = false;  // the reader is reading this call's bytes
  uint64_t unreceived_;     // attachment bytes not yet received by the service
  uint64_t unannounced_;    // those whose pieces have not arrived yet
  uint64_t piece_left_ = 0;
  Buffer inline_data_;
  HeldBytes head_bytes_;
  HeldBytes body_bytes_;        // of the server
  HeldBytes connection_bytes_;  // of the connection
  Waiter waiter_;               // Receive waits here for the next piece
  absl::Status abort_reason_;
  absl::Status cancel_reason_;
  std::function<void()> listener_;
  std::optional<DeadlineQueue::Key> deadline_key_;
  bool finished_ = false;
};

}  // namespace capstan
