// Sums the gradients of equal rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

// Gradient i is for row rows[i] of a shard. Views.
struct RowGradients {
  std::span<const uint32_t> rows;
  DType dtype = DType::kF32;  // f32, f16 or bf16
  const std::byte* values = nullptr;
  float scale = 1;
};

struct RowSums {
  std::vector<uint32_t> rows;  // each once, in the order of first appearance
  std::vector<float> values;
};

// The sum for each row, added in the order of `batches` and, within a batch, of
// its rows: the same order gives the same result, bit by bit. The values of a
// batch are first multiplied by its scale. Pure; thread-safe.
RowSums SumRows(std::span<const RowGradients> batches, size_t row_size);

}  // namespace capstan
