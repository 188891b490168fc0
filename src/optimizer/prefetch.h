// Prefetching rows of a table. They lie anywhere in hundreds of megabytes, so
// each is a cache miss in every array; only with many under way at once does an
// update keep the memory busy.
#pragma once

#include <algorithm>
#include <cstddef>

namespace capstan {

inline constexpr size_t kCacheLine = 64;

// Thread-safe: immutable.
class RowPrefetch {
 public:
  // For rows of `size` floats that lie in `num_arrays` arrays.
  RowPrefetch(size_t size, size_t num_arrays)
      : size_(size),
        // A longer row is a run that the processor sees by itself.
        end_(std::min(size, kMaxLines * kStride)),
        ahead_(std::clamp<size_t>(
            kLinesAhead / ((size / kStride + 1) * num_arrays), 2, 32)) {}

  // How many rows before its turn to ask for a row.
  size_t ahead() const { return ahead_; }

  // Asks for row `row` of an array. Into the second-level cache, which can
  // have three times as many lines under way as the first: 44 million rows of
  // 64 bytes a second against 39, measured with Adagrad.
  // Always inline: of a function that only prefetches GCC thinks that it does
  // nothing, and leaves out the calls.
  [[gnu::always_inline]] void Row(const float* array, size_t row) const {
    const float* start = array + row * size_;
    for (size_t i = 0; i < end_; i += kStride) {
      __builtin_prefetch(start + i, 0, 2);
    }
    // A row may begin in the middle of a line and end in one more.
    if (end_ % kStride != 0) __builtin_prefetch(start + end_ - 1, 0, 2);
  }

 private:
  static constexpr size_t kStride = kCacheLine / sizeof(float);
  static constexpr size_t kMaxLines = 16;
  static constexpr size_t kLinesAhead = 128;

  const size_t size_;
  const size_t end_;
  const size_t ahead_;
};

}  // namespace capstan
