// Bytes whose position can be told from their value, to check that none is
// lost, duplicated or moved. Test-only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace capstan::testing {

// Byte `index` of the pattern `seed`; repeats only after 2^24 bytes.
inline std::byte PatternAt(uint64_t seed, uint64_t index) {
  return static_cast<std::byte>(
      (index + (index >> 8) * 3 + (index >> 16) * 5 + seed * 41) & 0xff);
}

inline void FillPattern(uint64_t seed, MutableBytes into) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = PatternAt(seed, i);
}

inline std::vector<std::byte> Pattern(uint64_t seed, size_t size) {
  std::vector<std::byte> bytes(size);
  FillPattern(seed, bytes);
  return bytes;
}

// True if `bytes` are the start of the pattern `seed`.
inline bool IsPattern(uint64_t seed, Bytes bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != PatternAt(seed, i)) return false;
  }
  return true;
}

// Fills memory that nothing may write to.
inline constexpr std::byte kPoison{0xa5};

// True if every byte is `value`.
inline bool AllAre(std::byte value, Bytes bytes) {
  return std::ranges::all_of(bytes,
                             [value](std::byte byte) { return byte == value; });
}

}  // namespace capstan::testing
