#include <algorithm>
#include <cstring>

#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/operation/gather.h"
#include "dataset/operation/same_columns.h"
#include "dataset/recipe/convert_value.h"
#include "dataset/recipe/quote_text.h"

namespace capstan {
namespace {

// Goes row by row, because shapes may differ; calls visit(block, column, row).
template <typename Visit>
void ForEachRow(const std::vector<Run>& runs, std::size_t column,
                const Visit& visit) {
  const Layout& first = *runs.front().block->layout;
  for (const Run& run : runs) {
    const std::size_t at =
        ColumnOf(*run.block->layout, first, column, first[column].name);
    for (std::int64_t row = run.begin; row < run.end; ++row) {
      visit(*run.block, at, row);
    }
  }
}

// The smallest shape that all rows of a column fit in. Throws if types or ranks
// differ.
std::vector<std::int64_t> LongestOf(const std::vector<Run>& runs,
                                    std::size_t column) {
  const Run& first = runs.front();
  const Field& field = (*first.block->layout)[column];
  const Shape model = ShapeAt(*first.block, column, first.begin);
  std::vector<std::int64_t> dims(model.dims().begin(), model.dims().end());
  ForEachRow(
      runs, column, [&](const Block& block, std::size_t at, std::int64_t row) {
        const Shape shape = ShapeAt(block, at, row);
        const DType dtype = (*block.layout)[at].dtype;
        if (dtype != field.dtype || shape.rank() != model.rank()) {
          throw Error(
              ErrorCode::kInvalidArgument,
              Cat("a padded batch needs equal types and ranks: ",
                  QuoteText(field.name), " is ", NameOf(dtype), " ",
                  shape.ToString(), " in one element, and ",
                  NameOf(field.dtype), " ", model.ToString(), " in the first"));
        }
        for (int axis = 0; axis < model.rank(); ++axis) {
          auto& longest = dims[static_cast<std::size_t>(axis)];
          longest = std::max(longest, shape[axis]);
        }
      });
  return dims;
}

// Copies `from`, of shape `dims`, into the corner of `to`, of shape `into`.
void CopyCorner(const std::byte* from, std::span<const std::int64_t> dims,
                std::byte* to, std::span<const std::int64_t> into,
                std::size_t element) {
  const auto bytes = [&](std::span<const std::int64_t> shape) {
    std::size_t size = element;
    for (const std::int64_t dim : shape) size *= static_cast<std::size_t>(dim);
    return size;
  };
  if (bytes(dims) == 0) return;
  if (dims.size() <= 1) {
    std::memcpy(to, from, bytes(dims));
    return;
  }
  const std::size_t from_row = bytes(dims.subspan(1));
  const std::size_t to_row = bytes(into.subspan(1));
  for (std::int64_t i = 0; i < dims[0]; ++i) {
    const auto at = static_cast<std::size_t>(i);
    CopyCorner(from + at * from_row, dims.subspan(1), to + at * to_row,
               into.subspan(1), element);
  }
}

Tensor GatherColumn(const std::vector<Run>& runs, std::size_t column,
                    double padding) {
  const Field& field = (*runs.front().block->layout)[column];
  std::vector<std::int64_t> dims = LongestOf(runs, column);
  dims.insert(dims.begin(), TotalRows(runs));
  const Shape shape{std::span<const std::int64_t>(dims)};
  Tensor tensor = padding == 0 ? Tensor::Zeros(field.dtype, shape)
                               : Filled(field.dtype, shape, padding);
  std::byte* to = tensor.mutable_view().mutable_bytes().data();
  const std::size_t row_bytes =
      static_cast<std::size_t>(shape.row_elements()) * SizeOf(field.dtype);
  ForEachRow(runs, column,
             [&](const Block& block, std::size_t at, std::int64_t row) {
               const TensorView from = ViewAt(block, at, row);
               CopyCorner(from.bytes().data(), from.shape().dims(), to,
                          shape.dims().subspan(1), SizeOf(field.dtype));
               to += row_bytes;
             });
  return tensor;
}

}  // namespace

std::shared_ptr<const Block> GatherPadded(
    const std::vector<Run>& runs,
    const std::map<std::string, double>& padding) {
  const Layout& layout = *runs.front().block->layout;
  CheckSameColumns(runs);
  for (const auto& [name, value] : padding) {
    if (FindField(layout, name) < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  Cat("PaddedBatch has a padding for \"", name,
                      "\", which the elements have not"));
    }
  }
  Example::Columns columns;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const auto found = padding.find(layout[i].name);
    const double value = found == padding.end() ? 0 : found->second;
    columns.emplace_back(layout[i].name, GatherColumn(runs, i, value));
  }
  return OneRow(columns);
}

}  // namespace capstan
