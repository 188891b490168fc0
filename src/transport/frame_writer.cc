#include "transport/frame_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace capstan {
namespace {

// Attachments up to this size are copied next to their neighbours, which is
// cheaper than an entry of their own in a gathering write.
constexpr size_t kCopyBytes = 1 << 10;
// An inline message with more attachments than this is copied as a whole.
constexpr size_t kMaxInlineViews = 16;
// Small messages are gathered into one write up to this size.
constexpr size_t kBatchBytes = 256 << 10;

}  // namespace

OutgoingMessage::OutgoingMessage(FrameHeader header, std::string_view body,
                                 std::vector<Bytes> attachments_in,
                                 std::shared_ptr<const void> owner_in)
    : request_id(header.request_id),
      head(EncodeHead(header, body, attachments_in)),
      attachments(std::move(attachments_in)),
      attachment_bytes(TotalSize(attachments)),
      owner(std::move(owner_in)) {
  const bool copy =
      attachment_bytes <= kCopyBytes || (attachment_bytes <= kInlineBytes &&
                                         attachments.size() > kMaxInlineViews);
  if (!copy) return;
  for (const Bytes& bytes : attachments) head.append(AsText(bytes));
  attachments.clear();
  attachment_bytes = 0;
}

FrameWriter::FrameWriter(Stream& stream, Clock& clock, const Executor& executor)
    : stream_(stream),
      clock_(clock),
      last_written_(clock.Now()),
      idle_(executor) {}

Task<absl::Status> FrameWriter::Run() {
  absl::Status status;
  for (;;) {
    if (position_ < batch_.size() || Gather()) {
      status = co_await WriteBatch();
      if (!status.ok()) break;
    } else if (stopping_) {
      break;
    } else {
      co_await idle_.Sleep();
    }
  }
  ReleaseAll();
  co_return status;
}

void FrameWriter::SendControl(const FrameHeader& header) {
  std::byte bytes[kHeaderBytes];
  EncodeHeader(header, bytes);
  controls_.append(AsText(bytes));
  idle_.Wake();
}

void FrameWriter::Send(std::shared_ptr<OutgoingMessage> message, bool alone) {
  if (ended_) {
    Release(*message);
    return;
  }
  const bool large = message->attachment_bytes > kInlineBytes;
  (large ? large_ : small_).push_back(std::move(message));
  // While Run sleeps, nothing is being written that this message could
  // overtake.
  if (alone && idle_.occupied()) {
    WriteNow();
  } else {
    idle_.Wake();
  }
}

void FrameWriter::WriteNow() {
  Gather();
  Advance(stream_.TryWrite(batch_));
  if (position_ == batch_.size()) FinishBatch();
  if (position_ < batch_.size() || !large_.empty()) idle_.Wake();
}

Task<> FrameWriter::Withdraw(std::shared_ptr<OutgoingMessage> message) {
  if (message->released()) co_return;
  if (message->state == OutgoingMessage::State::kQueued) {
    std::erase(small_, message);
    std::erase(large_, message);
    Release(*message);
    co_return;
  }
  message->withdrawn = true;
  const auto in_batch = [&] {
    return std::find(in_batch_.begin(), in_batch_.end(), message) !=
           in_batch_.end();
  };
  if (!in_batch()) {
    // Between two pieces: Gather sends an abort in place of the next one.
    message->attachments.clear();
    message->owner.reset();
    idle_.Wake();
    co_return;
  }
  Waiter waiter(idle_.executor());
  withdrawing_.push_back(&waiter);
  stream_.Interrupt();
  while (in_batch()) co_await waiter.Sleep();
  std::erase(withdrawing_, &waiter);
}

void FrameWriter::Stop() {
  stopping_ = true;
  idle_.Wake();
}

bool FrameWriter::Gather() {
  batch_.clear();
  position_ = 0;
  batch_controls_.clear();
  if (!controls_.empty()) {
    batch_controls_.swap(controls_);
    batch_.push_back(AsBytes(batch_controls_));
  }
  size_t bytes = 0;
  // Leave room for a piece of a large message, which goes last.
  while (!small_.empty() && bytes < kBatchBytes &&
         batch_.size() + 1 + small_.front()->attachments.size() <=
             kMaxViews / 2) {
    bytes += small_.front()->head.size() + small_.front()->attachment_bytes;
    AddMessage(std::move(small_.front()));
    small_.pop_front();
  }
  if (!large_.empty()) AddPiece();
  return !batch_.empty();
}

void FrameWriter::AddMessage(std::shared_ptr<OutgoingMessage> message) {
  message->state = OutgoingMessage::State::kWriting;
  batch_.push_back(AsBytes(message->head));
  for (const Bytes& attachment : message->attachments) {
    if (!attachment.empty()) batch_.push_back(attachment);
  }
  in_batch_.push_back(std::move(message));
}

void FrameWriter::AddPiece() {
  std::shared_ptr<OutgoingMessage> message = large_.front();
  FrameHeader header;
  header.request_id = message->request_id;
  if (message->withdrawn) {
    header.kind = FrameKind::kAbort;
    EncodeHeader(header, piece_header_);
    batch_.push_back(piece_header_);
    large_.pop_front();
    Release(*message);
    return;
  }
  if (message->state == OutgoingMessage::State::kQueued) {
    message->state = OutgoingMessage::State::kWriting;
    batch_.push_back(AsBytes(message->head));
  }
  const size_t header_at = batch_.size();
  batch_.push_back(piece_header_);
  header.kind = FrameKind::kData;
  header.attachment_bytes = AddPieceViews(*message);
  EncodeHeader(header, piece_header_);
  batch_[header_at] = piece_header_;
  in_batch_.push_back(message);
  if (message->attachment == message->attachments.size()) large_.pop_front();
}

uint64_t FrameWriter::AddPieceViews(OutgoingMessage& message) {
  uint64_t bytes = 0;
  scratch_.clear();
  // Reserve, so that views into scratch_ stay valid while it grows.
  scratch_.reserve(kMaxPieceBytes);
  while (message.attachment < message.attachments.size()) {
    const Bytes left =
        message.attachments[message.attachment].subspan(message.offset);
    const Bytes part = left.first(static_cast<size_t>(
        std::min<uint64_t>(left.size(), kMaxPieceBytes - bytes)));
    const bool joins = part.size() <= kCopyBytes && !scratch_.empty() &&
                       batch_.back().data() + batch_.back().size() ==
                           AsBytes(scratch_).data() + scratch_.size();
    if (!part.empty() && !joins && batch_.size() == kMaxViews) break;
    if (part.size() <= kCopyBytes) {
      AddCopied(part);
    } else {
      batch_.push_back(part);
    }
    bytes += part.size();
    message.offset += part.size();
    if (message.offset < message.attachments[message.attachment].size()) break;
    ++message.attachment;
    message.offset = 0;
  }
  return bytes;
}

void FrameWriter::AddCopied(Bytes bytes) {
  if (bytes.empty()) return;
  const std::byte* end = AsBytes(scratch_).data() + scratch_.size();
  const bool joins =
      !scratch_.empty() && batch_.back().data() + batch_.back().size() == end;
  scratch_.append(AsText(bytes));
  if (joins) {
    batch_.back() = {batch_.back().data(), batch_.back().size() + bytes.size()};
  } else {
    batch_.push_back({end, bytes.size()});
  }
}

Task<absl::Status> FrameWriter::WriteBatch() {
  while (position_ < batch_.size()) {
    if (!withdrawing_.empty() && !in_batch_.empty()) {
      DetachBatch();
      continue;
    }
    const std::span<const Bytes> left =
        std::span<const Bytes>(batch_).subspan(position_);
    absl::StatusOr<size_t> written = co_await stream_.WriteSome(left);
    if (!written.ok()) co_return written.status();
    Advance(*written);
  }
  FinishBatch();
  co_return absl::OkStatus();
}

void FrameWriter::FinishBatch() {
  for (const std::shared_ptr<OutgoingMessage>& message : in_batch_) {
    const bool more = !large_.empty() && large_.front() == message;
    if (!more) Release(*message);
  }
  in_batch_.clear();
  for (Waiter* waiter : withdrawing_) waiter->Wake();
}

void FrameWriter::Advance(size_t bytes) {
  if (bytes > 0) last_written_ = clock_.Now();
  while (bytes > 0 ||
         (position_ < batch_.size() && batch_[position_].empty())) {
    Bytes& view = batch_[position_];
    const size_t count = std::min(bytes, view.size());
    view = view.subspan(count);
    bytes -= count;
    if (view.empty()) ++position_;
  }
}

void FrameWriter::DetachBatch() {
  std::string rest;
  for (size_t i = position_; i < batch_.size(); ++i) {
    rest.append(AsText(batch_[i]));
  }
  detached_ = std::move(rest);
  batch_.clear();
  position_ = 0;
  if (!detached_.empty()) batch_.push_back(AsBytes(detached_));
  for (const std::shared_ptr<OutgoingMessage>& message : in_batch_) {
    const bool more = !large_.empty() && large_.front() == message;
    if (!more) Release(*message);
    if (more && message->withdrawn) {
      // The abort is sent in place of the next piece.
      message->attachments.clear();
      message->owner.reset();
    }
  }
  in_batch_.clear();
  for (Waiter* waiter : withdrawing_) waiter->Wake();
}

void FrameWriter::Release(OutgoingMessage& message) {
  message.state = OutgoingMessage::State::kReleased;
  message.attachments.clear();
  message.owner.reset();
}

void FrameWriter::ReleaseAll() {
  ended_ = true;
  for (const auto& message : in_batch_) Release(*message);
  for (const auto& message : small_) Release(*message);
  for (const auto& message : large_) Release(*message);
  in_batch_.clear();
  small_.clear();
  large_.clear();
  for (Waiter* waiter : withdrawing_) waiter->Wake();
}

}  // namespace capstan
