// Writes frames to a stream: small frames first, large attachments in pieces
// between them, everything from the memory where it is.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/async/waiter.h"
#include "base/bytes.h"
#include "transport/stream.h"
#include "wire/frame.h"

namespace capstan {

// A message on its way out. Shared by whoever sent it and the writer.
struct OutgoingMessage {
  OutgoingMessage(FrameHeader header, std::string_view body,
                  std::vector<Bytes> attachments_in,
                  std::shared_ptr<const void> owner_in);

  // True once the writer no longer uses `attachments` and never will.
  bool released() const { return state == State::kReleased; }
  // True once a byte of it may have left.
  bool started() const { return state != State::kQueued; }

  enum class State { kQueued, kWriting, kReleased };
  State state = State::kQueued;
  uint64_t request_id;
  std::string head;                   // header, table, body
  std::vector<Bytes> attachments;     // borrowed
  uint64_t attachment_bytes;          // of `attachments` in all
  std::shared_ptr<const void> owner;  // keeps `attachments` alive; may be null
  // How far the pieces have got: an attachment and a place in it.
  size_t attachment = 0;
  size_t offset = 0;
  bool withdrawn = false;
};

// Lives on the stream's executor.
class FrameWriter {
 public:
  // `stream` and `clock` must outlive the writer.
  FrameWriter(Stream& stream, Clock& clock, const Executor& executor);

  // Writes what is sent, in batches, until the stream fails (the error is
  // returned) or Stop was called and all that was sent before is written (OK).
  Task<absl::Status> Run();

  // Sends a header-only frame, before any message that waits.
  void SendControl(const FrameHeader& header);

  // Sends a message after those that wait already; small ones may overtake
  // large ones. After Run has ended the message is released at once, unsent.
  // `alone` says that no other is likely to follow at once: it is then written
  // without delay if there is room, else together with those that do.
  void Send(std::shared_ptr<OutgoingMessage> message, bool alone = false);

  // Takes a message back: when this returns the writer no longer uses its
  // attachments. If a part of them has left, the peer is told that the rest
  // will not come. Returns soon, even if the peer reads nothing.
  Task<> Withdraw(std::shared_ptr<OutgoingMessage> message);

  // Ends Run after what was sent so far.
  void Stop();

  // When the stream last took bytes.
  MonotonicTime last_written() const { return last_written_; }

 private:
  // Fills batch_ with the frames to write next. False if there are none.
  bool Gather();
  void AddMessage(std::shared_ptr<OutgoingMessage> message);
  void AddPiece();
  // Puts views of the next bytes of the large message into batch_; at most
  // one piece, as many views as fit. Returns the number of bytes.
  uint64_t AddPieceViews(OutgoingMessage& message);
  void AddCopied(Bytes bytes);
  // Writes what can be written without waiting, and leaves the rest to Run.
  void WriteNow();
  Task<absl::Status> WriteBatch();
  // Releases the messages whose last bytes were in the batch.
  void FinishBatch();
  void Advance(size_t bytes);
  // Copies what is left of the batch, so that its messages can be released.
  void DetachBatch();
  void Release(OutgoingMessage& message);
  void ReleaseAll();

  Stream& stream_;
  Clock& clock_;
  MonotonicTime last_written_;
  Waiter idle_;
  bool stopping_ = false;
  bool ended_ = false;
  std::string controls_;  // encoded, waiting
  std::deque<std::shared_ptr<OutgoingMessage>> small_;
  std::deque<std::shared_ptr<OutgoingMessage>> large_;

  // The batch being written: views from `position_` on are left.
  std::vector<Bytes> batch_;
  size_t position_ = 0;
  std::vector<std::shared_ptr<OutgoingMessage>> in_batch_;
  std::string batch_controls_;
  std::string scratch_;  // small attachments of a piece, side by side
  std::byte piece_header_[kHeaderBytes];
  std::string detached_;
  // Those who wait in Withdraw for the batch to let go.
  std::vector<Waiter*> withdrawing_;
};

}  // namespace capstan
