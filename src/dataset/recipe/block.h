// Rows of named columns, many at a time: what flows through a pipeline. An
// Example is one row of a Block, so a source that makes Blocks of a few hundred
// rows allocates nothing per row, and a batch is gathered by copying memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/dataset.h"
#include "capstan/tensor.h"

namespace capstan {

// A column's name, type and the shape of its rows.
struct Field {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;          // of each row; unused if ragged
  bool ragged = false;  // rows are of rank 1, each with its own length

  friend bool operator==(const Field&, const Field&) = default;
};

// The columns of a Block. Shared by all blocks of a source.
using Layout = std::vector<Field>;

// The index of the column of that name, or -1.
int FindField(const Layout& layout, std::string_view name);

// Where the rows of a column are. They are contiguous.
struct ColumnData {
  std::shared_ptr<const void> memory;     // keeps `data` alive
  const std::byte* data = nullptr;        // null if there are no bytes
  std::size_t row_bytes = 0;              // unused if ragged
  const std::int64_t* offsets = nullptr;  // if ragged: rows + 1, in elements
};

// Immutable once it is shared.
struct Block {
  std::shared_ptr<const Layout> layout;
  std::vector<ColumnData> columns;  // as in the layout
  std::int64_t rows = 0;
  // Owns the columns' offsets, if they need an owner.
  std::vector<std::vector<std::int64_t>> offsets;
  std::shared_ptr<const void> keep_alive;
};

// Some rows of a Block, one after the other.
struct Run {
  std::shared_ptr<const Block> block;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

// The value of a column in a row: its shape and bytes.
Shape ShapeAt(const Block& block, std::size_t column, std::int64_t row);
TensorView ViewAt(const Block& block, std::size_t column, std::int64_t row);
// The same as a tensor that keeps the block's memory alive.
Tensor TensorAt(const Block& block, std::size_t column, std::int64_t row);

// A block of one row: tensors of these names, sharing their memory.
std::shared_ptr<const Block> OneRow(
    const std::vector<std::pair<std::string, Tensor>>& columns);

// A block whose rows are the tensors' along the first axis. Throws
// kInvalidArgument unless all tensors have the same number of rows.
std::shared_ptr<const Block> RowsOf(
    const std::vector<std::pair<std::string, Tensor>>& columns);

// Appends to `runs`; a run that continues the last one is merged into it.
void Append(Run run, std::vector<Run>& runs);

std::int64_t TotalRows(const std::vector<Run>& runs);

}  // namespace capstan
