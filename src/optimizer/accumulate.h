// Sums of gradients and their norms.
// Thread-safe: pure functions of memory that the caller guards.
#pragma once

#include <cstddef>
#include <span>

#include "capstan/tensor.h"

namespace capstan {

// out[i] += in[i] * scale; the product is rounded before the addition. Both
// spans must have the same size and must not overlap.
void Accumulate(std::span<const float> in, float scale, std::span<float> out);

// The sum of the squares of `n` elements of type f32, f16 or bf16, in double.
// `data` need not be aligned. The result depends only on the elements and their
// order, bit for bit, not on the processor.
double SumOfSquares(DType dtype, const std::byte* data, size_t n);

}  // namespace capstan
