// How much memory variables take on the servers. Sizes come from peers too, so
// sums saturate instead of wrapping.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "capstan/variable.h"

namespace capstan {

// The bytes of a row of a valid variable: its value, and the same again for
// each slot of the optimizer.
uint64_t StoredRowBytes(const VariableSpec& spec);

// a + b and a * b, or UINT64_MAX on overflow.
inline uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
inline uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace capstan
