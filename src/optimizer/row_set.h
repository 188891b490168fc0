// Which rows of a range an update touches.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace capstan {

// A set of numbers below kCapacity. Lives on the stack, for updates that must
// not allocate. As thread-safe as the standard containers.
class RowSet {
 public:
  static constexpr size_t kCapacity = size_t{1} << 18;  // bits: 32 KiB

  void Insert(size_t row) { words_[row / 64] |= uint64_t{1} << row % 64; }

  // The first number from `row` on that is in the set (FindIn) or not in the
  // set (FindNotIn); `end` if there is none below `end`.
  size_t FindIn(size_t row, size_t end) const { return Find(0, row, end); }
  size_t FindNotIn(size_t row, size_t end) const {
    return Find(~uint64_t{0}, row, end);
  }

 private:
  size_t Find(uint64_t flip, size_t row, size_t end) const {
    while (row < end) {
      const uint64_t word = (words_[row / 64] ^ flip) >> row % 64;
      if (word != 0) {
        return std::min(end, row + static_cast<size_t>(std::countr_zero(word)));
      }
      row = (row / 64 + 1) * 64;
    }
    return end;
  }

  std::array<uint64_t, kCapacity / 64> words_{};
};

}  // namespace capstan
