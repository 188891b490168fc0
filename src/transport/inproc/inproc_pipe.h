// One direction of an in-process connection, where bytes pass from a writer's
// views into a reader's. Whoever comes second copies, so that bytes are copied
// once. Only a small write that finds no reader is put into a buffer, so that
// it need not wait for one: it costs a second copy of little, and two tasks
// that both write before they read do not wait for each other.
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
  // Writes of at most this many bytes are buffered, up to as many in all.
  static constexpr size_t kBufferBytes = 64 << 10;
  // The most that one Move copies: how long the lock is held, some 25 us. Less
  // costs throughput, as both sides wake for every piece.
  static constexpr size_t kMaxMoveBytes = 256 << 10;

  // A ReadSome or WriteSome under way offers its views. They are used until
  // they are withdrawn, which returns how many bytes have been moved from or
  // to them. One offer of each kind at a time.
  void OfferWrite(std::span<const Bytes> from);
  void OfferRead(std::span<const MutableBytes> into);
  size_t WithdrawWrite();
  size_t WithdrawRead();

  // Bytes moved since the offer.
  size_t written() const { return written_; }
  size_t read() const { return read_; }

  // Moves what can be moved now, in order: from the buffer to the reader, from
  // the writer to the reader, from the writer to the buffer.
  void Move();

  // Bytes in the buffer.
  size_t buffered() const { return buffered_; }
  // Forgets them.
  void DropBuffered();

 private:
  void MoveToReader();
  void MoveToBuffer();
  // The bytes in the buffer, and the room in it, that lie together.
  Bytes FirstBuffered() const;
  MutableBytes FirstFree() const;

  ViewCursor<Bytes> from_;
  ViewCursor<MutableBytes> into_;
  size_t written_ = 0;
  size_t read_ = 0;

  // A ring; allocated when first used.
  std::unique_ptr<std::byte[]> buffer_;
  size_t begin_ = 0;
  size_t buffered_ = 0;
};

}  // namespace capstan
