// Half-precision gradients as floats.
// Thread-safe: a pure function of memory that the caller guards.
#pragma once

#include <cstddef>

#include "capstan/tensor.h"

namespace capstan {

// Writes the `n` elements at `in` to `out` as floats, bit for bit what the
// conversions of Float16 and BFloat16 give: exact, with a Float16 NaN made
// quiet. `from` is f16, bf16, or f32 (a plain copy). `in` may have any
// alignment; `out` needs that of its type. They must not overlap.
void Widen(DType from, const std::byte* in, size_t n, float* out);

}  // namespace capstan
