// Half-precision gradients as floats.
// Thread-safe: a pure function of memory that the caller guards.
#pragma once

#include <cstddef>

#include "capstan/tensor.h"

namespace capstan {

// Writes the `n` elements at `in` to `out` as floats, bit by bit what the
// conversions of Float16 and BFloat16 give: exact, a Float16 NaN made quiet.
// `from` is f16, bf16 or f32, for which it is a copy. Neither need be aligned
// beyond its type, `in` not at all; they must not overlap.
void Widen(DType from, const std::byte* in, size_t n, float* out);

}  // namespace capstan
