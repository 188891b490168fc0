// Bytes that wait between TLS and the stream below it.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"

namespace capstan {

// A queue of bytes in one piece of memory, which is given back when it is empty
// and larger than wanted: a thousand idle connections must not keep what they
// needed when they were busy.
class TlsBuffer {
 public:
  Bytes bytes() const { return {data_.get() + begin_, end_ - begin_}; }
  size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

  // Removes bytes from the front.
  void Consume(size_t count);

  // Room for `count` bytes at least, behind those that wait. Commit says how
  // many of them were filled.
  MutableBytes Prepare(size_t count);
  void Commit(size_t count) { end_ += count; }

  void Append(Bytes bytes);

  // If it is empty, gives back memory beyond `capacity`.
  void Trim(size_t capacity);

  void Clear() { begin_ = end_ = 0; }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace capstan
