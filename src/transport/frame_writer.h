// Writes frames to a stream: small frames first, large attachments in pieces
// between them, everything straight from the memory it is in.
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

// A message being sent. Shared by its sender and the writer.
struct OutgoingMessage {
  OutgoingMessage(FrameHeader header, std::string_view body,
                  std::vector<Bytes> attachments_in,
                  std::shared_ptr<const void> owner_in);

  // Whether the writer is done with `attachments` for good.
  bool released() const { return state == State::kReleased; }
  // Whether a byte of the message may have been sent.
  bool started() const { return state != State::kQueued; }

  enum class State { kQueued, kWriting, kReleased };
  State state = State::kQueued;
  uint64_t request_id;
  std::string head;                   // header, table, body
  std::vector<Bytes> attachments;     // borrowed
  uint64_t attachment_bytes;          // total size of `attachments`
  std::shared_ptr<const void> owner;  // keeps `attachments` alive; may be null
  // Where the next piece begins: an attachment and an offset in it.
  size_t attachment = 0;
  size_t offset = 0;
  bool withdrawn = false;
};

// Lives on the stream's executor.
class FrameWriter {
 public:
  // `stream` and `clock` must outlive the writer.
  FrameWriter(Stream& stream, Clock& clock, const Executor& executor);

  // Writes what is sent, in batches, until the stream fails (returns the error)
  // or Stop was called and everything sent before it is written (returns OK).
  Task<absl::Status> Run();

  // Sends a header-only frame, ahead of any waiting message.
  void SendControl(const FrameHeader& header);

  // Sends a message after those already waiting; small ones may overtake large
  // ones. After Run has ended the message is released at once, unsent. With
  // `alone` no other message is expected right away, so this one is written
  // immediately if there is room; without it, together with those that follow.
  void Send(std::shared_ptr<OutgoingMessage> message, bool alone = false);

  // Takes a message back: once this returns, the writer no longer uses its
  // attachments. If some of their bytes were already sent, the peer is told
  // that the rest will not come. Returns soon, even if the peer reads nothing.
  Task<> Withdraw(std::shared_ptr<OutgoingMessage> message);

  // Ends Run once everything sent so far is written.
  void Stop();

  // When the stream last accepted bytes.
  MonotonicTime last_written() const { return last_written_; }

 private:
  // Fills batch_ with the frames to write next. Returns false if there are
  // none.
  bool Gather();
  void AddMessage(std::shared_ptr<OutgoingMessage> message);
  void AddPiece();
  // Adds views of the next bytes of the large message to batch_: at most one
  // piece, and as many views as fit. Returns the number of bytes.
  uint64_t AddPieceViews(OutgoingMessage& message);
  void AddCopied(Bytes bytes);
  // Writes as much as it can without waiting and leaves the rest to Run.
  void WriteNow();
  Task<absl::Status> WriteBatch();
  // Releases the messages whose last bytes were in the batch.
  void FinishBatch();
  void Advance(size_t bytes);
  // Copies the unwritten part of the batch, so that its messages can be
  // released.
  void DetachBatch();
  void Release(OutgoingMessage& message);
  void ReleaseAll();

  Stream& stream_;
  Clock& clock_;
  MonotonicTime last_written_;
  Waiter idle_;
  bool stopping_ = false;
  bool ended_ = false;
  std::string controls_;  // encoded, not yet in a batch
  std::deque<std::shared_ptr<OutgoingMessage>> small_;
  std::deque<std::shared_ptr<OutgoingMessage>> large_;

  // The batch being written; the views from `position_` on are still unwritten.
  std::vector<Bytes> batch_;
  size_t position_ = 0;
  std::vector<std::shared_ptr<OutgoingMessage>> in_batch_;
  std::string batch_controls_;
  std::string scratch_;  // small attachments of a piece, side by side
  std::byte piece_header_[kHeaderBytes];
  std::string detached_;
  // Calls of Withdraw that wait for the batch to release their messages.
  std::vector<Waiter*> withdrawing_;
};

}  // namespace capstan
