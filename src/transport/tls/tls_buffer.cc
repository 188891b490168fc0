#include "transport/tls/tls_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace capstan {

void TlsBuffer::Consume(size_t count) {
  begin_ += count;
  if (begin_ == end_) Clear();
}

MutableBytes TlsBuffer::Prepare(size_t count) {
  if (capacity_ - end_ >= count) {
    return {data_.get() + end_, capacity_ - end_};
  }
  const size_t waiting = size();
  if (capacity_ - waiting >= count) {
    std::memmove(data_.get(), data_.get() + begin_, waiting);
  } else {
    // Double it, so that many small additions cost no more than a large one.
    const size_t capacity = std::max(waiting + count, 2 * capacity_);
    auto data = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (waiting > 0) std::memcpy(data.get(), data_.get() + begin_, waiting);
    data_ = std::move(data);
    capacity_ = capacity;
  }
  begin_ = 0;
  end_ = waiting;
  return {data_.get() + end_, capacity_ - end_};
}

void TlsBuffer::Append(Bytes bytes) {
  if (bytes.empty()) return;
  std::memcpy(Prepare(bytes.size()).data(), bytes.data(), bytes.size());
  Commit(bytes.size());
}

void TlsBuffer::Trim(size_t capacity) {
  if (!empty() || capacity_ <= capacity) return;
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace capstan
