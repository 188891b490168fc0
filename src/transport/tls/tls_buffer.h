// Bytes waiting between TLS and the underlying stream.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"

namespace capstan {

// A queue of bytes in one piece of memory. Trim frees the memory of an empty
// queue: a thousand idle connections must not keep what they needed when they
// were busy.
class TlsBuffer {
 public:
  Bytes bytes() const { return {data_.get() + begin_, end_ - begin_}; }
  size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

  // Removes bytes from the front.
  void Consume(size_t count);

  // Returns room for at least `count` bytes at the end of the queue. Commit
  // says how many of them were filled.
  MutableBytes Prepare(size_t count);
  void Commit(size_t count) { end_ += count; }

  void Append(Bytes bytes);

  // If the queue is empty, frees memory larger than `capacity`.
  void Trim(size_t capacity);

  void Clear() { begin_ = end_ = 0; }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace capstan
