// One direction of an in-process connection: bytes pass from a writer's views
// into a reader's. Whichever side arrives second does the copying, so bytes are
// copied once. Only a small write that finds no reader goes into a buffer
// instead of waiting: this costs a second copy of few bytes, and keeps two
// tasks that both write before they read from deadlocking.
//
// Not thread-safe; InprocConnection guards it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "transport/view_cursor.h"

namespace capstan {

class InprocPipe {
 public:
  // The size of the buffer; larger writes are not buffered.
  static constexpr size_t kBufferBytes = 64 << 10;
  // The most that one Move copies, which bounds how long the lock is held
  // (about 25 us). A smaller value costs throughput, as both sides wake for
  // every piece.
  static constexpr size_t kMaxMoveBytes = 256 << 10;

  // A ReadSome or WriteSome in progress offers its views. They are used until
  // they are withdrawn, which returns how many bytes were moved from or to
  // them. One offer of each kind at a time.
  void OfferWrite(std::span<const Bytes> from);
  void OfferRead(std::span<const MutableBytes> into);
  size_t WithdrawWrite();
  size_t WithdrawRead();

  // Bytes moved since the offer.
  size_t written() const { return written_; }
  size_t read() const { return read_; }

  // Moves all bytes that can be moved now, in this order: buffer to reader,
  // writer to reader, writer to buffer.
  void Move();

  // Bytes in the buffer.
  size_t buffered() const { return buffered_; }
  // Discards the bytes in the buffer.
  void DropBuffered();

 private:
  void MoveToReader();
  void MoveToBuffer();
  // The first contiguous bytes in the buffer, and the first contiguous room.
  Bytes FirstBuffered() const;
  MutableBytes FirstFree() const;

  ViewCursor<Bytes> from_;
  ViewCursor<MutableBytes> into_;
  size_t written_ = 0;
  size_t read_ = 0;

  // A ring buffer; allocated when first used.
  std::unique_ptr<std::byte[]> buffer_;
  size_t begin_ = 0;
  size_t buffered_ = 0;
};

}  // namespace capstan
