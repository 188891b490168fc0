// The random bits behind each element of a variable.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace capstan {

// 64 random bits of element `index`. Two elements share a Philox block, which
// halves the cost of computing the bits of many. Pure; thread-safe.
inline uint64_t ElementBits(uint64_t seed, uint64_t index, uint32_t draw = 0) {
  return RandomBitsAt(seed, index / 2, draw)[index % 2];
}

// Calls use(ElementBits(seed, i)) for each i of [begin, end), in order.
template <typename Use>
void ForEachElementBits(uint64_t seed, uint64_t begin, uint64_t end,
                        const Use& use) {
  uint64_t i = begin;
  if (i % 2 == 1 && i < end) use(ElementBits(seed, i++));
  for (; i + 1 < end; i += 2) {
    const auto bits = RandomBitsAt(seed, i / 2);
    use(bits[0]);
    use(bits[1]);
  }
  if (i < end) use(ElementBits(seed, i));
}

}  // namespace capstan
