#include "transport/inproc/inproc_pipe.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace capstan {

void InprocPipe::OfferWrite(std::span<const Bytes> from) {
  from_ = ViewCursor<Bytes>(from);
  written_ = 0;
}

void InprocPipe::OfferRead(std::span<const MutableBytes> into) {
  into_ = ViewCursor<MutableBytes>(into);
  read_ = 0;
}

size_t InprocPipe::WithdrawWrite() {
  from_ = ViewCursor<Bytes>();
  return std::exchange(written_, 0);
}

size_t InprocPipe::WithdrawRead() {
  into_ = ViewCursor<MutableBytes>();
  return std::exchange(read_, 0);
}

void InprocPipe::Move() {
  MoveToReader();
  // A larger write waits for the reader, which avoids a second copy.
  if (from_.remaining() <= kBufferBytes) MoveToBuffer();
}

void InprocPipe::MoveToReader() {
  size_t budget = kMaxMoveBytes;
  while (budget > 0) {
    const MutableBytes into = into_.front();
    const Bytes from = buffered_ > 0 ? FirstBuffered() : from_.front();
    const size_t count = std::min({budget, into.size(), from.size()});
    if (count == 0) return;
    std::memcpy(into.data(), from.data(), count);
    into_.Advance(count);
    read_ += count;
    budget -= count;
    if (buffered_ > 0) {
      begin_ = (begin_ + count) % kBufferBytes;
      buffered_ -= count;
      // Restart at the front, so that a buffer that keeps running empty uses
      // the same few pages.
      if (buffered_ == 0) begin_ = 0;
    } else {
      from_.Advance(count);
      written_ += count;
    }
  }
}

void InprocPipe::MoveToBuffer() {
  while (from_.remaining() > 0 && buffered_ < kBufferBytes) {
    if (buffer_ == nullptr) {
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
    }
    const MutableBytes into = FirstFree();
    const Bytes from = from_.front();
    const size_t count = std::min(into.size(), from.size());
    std::memcpy(into.data(), from.data(), count);
    buffered_ += count;
    from_.Advance(count);
    written_ += count;
  }
}

Bytes InprocPipe::FirstBuffered() const {
  return {buffer_.get() + begin_, std::min(buffered_, kBufferBytes - begin_)};
}

MutableBytes InprocPipe::FirstFree() const {
  const size_t end = (begin_ + buffered_) % kBufferBytes;
  return {buffer_.get() + end,
          std::min(kBufferBytes - buffered_, kBufferBytes - end)};
}

void InprocPipe::DropBuffered() {
  buffer_ = nullptr;
  begin_ = 0;
  buffered_ = 0;
}

}  // namespace capstan
