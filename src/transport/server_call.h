// One request while it is being served: what the Service sees of it.
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
  // The caller waits for `timeout` from `arrived` on, and from every byte of
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
  // The bytes that it was admitted with.
  uint64_t head_bytes() const { return head_bytes_.bytes(); }
  // The bytes that ReceiveAll holds.
  uint64_t body_bytes() const { return body_bytes_.bytes(); }
  // The inline attachments, to be filled before the call is served.
  Buffer& inline_data() { return inline_data_; }
  // The caller has gone or cancelled, or its time is over.
  void Cancel(absl::Status why);
  // The rest of the attachments will not come.
  void Abort(absl::Status why);
  // A piece of `bytes` bytes is next on the stream, and Receive may read it.
  void OfferPiece(uint64_t bytes);
  uint64_t piece_left() const { return piece_left_; }
  // Bytes of the attachments not yet announced by a piece.
  uint64_t unannounced() const { return unannounced_; }
  // Serve has returned.
  void Finish() { finished_ = true; }
  bool finished() const { return finished_; }
  // The caller has cancelled or gone: nobody waits for an answer.
  bool caller_gone() const {
    return !cancel_reason_.ok() && !absl::IsDeadlineExceeded(cancel_reason_);
  }
  // The entry of the deadline that is watched, if one is.
  std::optional<DeadlineQueue::Key>& deadline_key() { return deadline_key_; }
  void Hold(HeldBytes bytes) { head_bytes_ = std::move(bytes); }

 private:
  ServerConnection& connection_;
  const FrameHeader header_;
  const MessagePrefix prefix_;
  const Duration timeout_;
  MonotonicTime last_received_;
  bool receiving_ = false;  // the reader reads this call's bytes
  uint64_t unreceived_;     // bytes of attachments that Receive has not given
  uint64_t unannounced_;    // of those that come in pieces
  uint64_t piece_left_ = 0;
  Buffer inline_data_;
  HeldBytes head_bytes_;
  HeldBytes body_bytes_;        // of the server
  HeldBytes connection_bytes_;  // of the connection
  Waiter waiter_;               // Receive, for the next piece
  absl::Status abort_reason_;
  absl::Status cancel_reason_;
  std::function<void()> listener_;
  std::optional<DeadlineQueue::Key> deadline_key_;
  bool finished_ = false;
};

}  // namespace capstan
