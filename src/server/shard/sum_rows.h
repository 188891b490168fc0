// Adds up gradients of equal rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

// Row rows[i] of a shard has gradient i. Views.
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

// The sums for each row, each added in the order of `batches` and, within one,
// of its rows: the result is the same, bit by bit, whenever that order is. A
// batch's values are multiplied by its scale first. Pure; thread-safe.
RowSums SumRows(std::span<const RowGradients> batches, size_t row_size);

}  // namespace capstan
