#include "dataset/recipe/block.h"

#include <array>
#include <set>
#include <utility>

#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/recipe/quote_text.h"

namespace capstan {
namespace {

void CheckNames(const std::vector<std::pair<std::string, Tensor>>& columns) {
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : columns) {
    if (!names.insert(name).second) {
      throw Error(ErrorCode::kInvalidArgument,
                  Cat("an example has two tensors ", QuoteText(name)));
    }
  }
}

ColumnData DataOf(const Tensor& tensor, std::size_t row_bytes) {
  return {.memory = tensor.memory(),
          .data = static_cast<const std::byte*>(tensor.memory().get()),
          .row_bytes = row_bytes,
          .offsets = nullptr};
}

}  // namespace

int FindField(const Layout& layout, std::string_view name) {
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Shape ShapeAt(const Block& block, std::size_t column, std::int64_t row) {
  const Field& field = (*block.layout)[column];
  if (!field.ragged) return field.shape;
  const std::int64_t* offsets = block.columns[column].offsets + row;
  return Shape({offsets[1] - offsets[0]});
}

TensorView ViewAt(const Block& block, std::size_t column, std::int64_t row) {
  const Field& field = (*block.layout)[column];
  const ColumnData& data = block.columns[column];
  const auto at = static_cast<std::size_t>(row);
  const std::size_t skipped =
      field.ragged
          ? static_cast<std::size_t>(data.offsets[at]) * SizeOf(field.dtype)
          : at * data.row_bytes;
  const std::byte* begin = data.data == nullptr ? nullptr : data.data + skipped;
  return TensorView(field.dtype, ShapeAt(block, column, row), begin);
}

Tensor TensorAt(const Block& block, std::size_t column, std::int64_t row) {
  const TensorView view = ViewAt(block, column, row);
  // Tensors are handles to writable memory; Example documents that these must
  // not be written.
  void* data = const_cast<std::byte*>(view.bytes().data());
  return Tensor(
      view.dtype(), view.shape(),
      std::shared_ptr<void>(
          std::const_pointer_cast<void>(block.columns[column].memory), data));
}

std::shared_ptr<const Block> OneRow(
    const std::vector<std::pair<std::string, Tensor>>& columns) {
  CheckNames(columns);
  auto layout = std::make_shared<Layout>();
  auto block = std::make_shared<Block>();
  block->rows = 1;
  for (const auto& [name, tensor] : columns) {
    layout->push_back({name, tensor.dtype(), tensor.shape(), false});
    block->columns.push_back(
        DataOf(tensor, ByteSize(tensor.dtype(), tensor.shape())));
  }
  block->layout = std::move(layout);
  return block;
}

std::shared_ptr<const Block> RowsOf(
    const std::vector<std::pair<std::string, Tensor>>& columns) {
  CheckNames(columns);
  auto layout = std::make_shared<Layout>();
  auto block = std::make_shared<Block>();
  for (const auto& [name, tensor] : columns) {
    const Shape& shape = tensor.shape();
    if (shape.rank() == 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  Cat(QuoteText(name), " is a scalar and has no rows"));
    }
    if (block->columns.empty()) {
      block->rows = shape.num_rows();
    } else if (shape.num_rows() != block->rows) {
      throw Error(ErrorCode::kInvalidArgument,
                  Cat(QuoteText(name), " has ", shape.num_rows(), " rows, and ",
                      QuoteText(columns.front().first), " has ", block->rows,
                      ": they must be equally many"));
    }
    const Shape row(shape.dims().subspan(1));
    layout->push_back({name, tensor.dtype(), row, false});
    block->columns.push_back(DataOf(tensor, ByteSize(tensor.dtype(), row)));
  }
  block->layout = std::move(layout);
  return block;
}

void Append(Run run, std::vector<Run>& runs) {
  if (!runs.empty() && runs.back().block == run.block &&
      runs.back().end == run.begin) {
    runs.back().end = run.end;
  } else {
    runs.push_back(std::move(run));
  }
}

std::int64_t TotalRows(const std::vector<Run>& runs) {
  std::int64_t rows = 0;
  for (const Run& run : runs) rows += run.size();
  return rows;
}

}  // namespace capstan
