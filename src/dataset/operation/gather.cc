#include "dataset/operation/gather.h"

#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/operation/same_columns.h"
#include "dataset/recipe/quote_text.h"

namespace capstan {
namespace {

std::string Describe(DType dtype, const Shape& shape) {
  return Cat(NameOf(dtype), " ", shape.ToString());
}

[[noreturn]] void ThrowDiffers(const std::string& name, std::int64_t row,
                               const std::string& found,
                               const std::string& first) {
  throw Error(ErrorCode::kInvalidArgument,
              Cat("a batch needs equal shapes: in element ", row, " of it ",
                  QuoteText(name), " is ", found, ", in the first ", first,
                  "; use PaddedBatch"));
}

// The memory of a run of rows of one column. Throws unless each row has the
// shape of the batch's first row. `row` is the number of the run's first row.
Bytes StretchOf(const Run& run, std::size_t column, DType dtype,
                const Shape& shape, std::int64_t row) {
  const Field& field = (*run.block->layout)[column];
  const std::size_t row_bytes = ByteSize(dtype, shape);
  if (!field.ragged) {
    if (field.dtype != dtype || field.shape != shape) {
      ThrowDiffers(field.name, row, Describe(field.dtype, field.shape),
                   Describe(dtype, shape));
    }
  } else {
    for (std::int64_t i = run.begin; i < run.end; ++i) {
      const Shape found = ShapeAt(*run.block, column, i);
      if (field.dtype != dtype || found != shape) {
        ThrowDiffers(field.name, row + i - run.begin,
                     Describe(field.dtype, found), Describe(dtype, shape));
      }
    }
  }
  const std::byte* begin = ViewAt(*run.block, column, run.begin).bytes().data();
  return {begin, row_bytes * static_cast<std::size_t>(run.size())};
}

Tensor GatherColumn(const std::vector<Run>& runs, std::size_t column,
                    std::int64_t rows) {
  const Run& first = runs.front();
  const std::string& name = (*first.block->layout)[column].name;
  const TensorView model = ViewAt(*first.block, column, first.begin);
  std::vector<std::int64_t> dims = {rows};
  dims.insert(dims.end(), model.shape().dims().begin(),
              model.shape().dims().end());
  Tensor tensor = Tensor::Uninitialized(model.dtype(), Shape(dims));
  std::byte* to = tensor.mutable_view().mutable_bytes().data();
  std::int64_t row = 0;
  const Layout& layout = *first.block->layout;
  const std::size_t row_bytes = model.bytes().size();
  for (const Run& run : runs) {
    Bytes from;
    if (run.block->layout.get() == &layout && !layout[column].ragged) {
      // The same layout, so nothing to compare: the usual case, and a batch may
      // have many runs.
      const std::byte* const data = run.block->columns[column].data;
      from = {data + static_cast<std::size_t>(run.begin) * row_bytes,
              static_cast<std::size_t>(run.size()) * row_bytes};
    } else {
      from = StretchOf(run, ColumnOf(*run.block->layout, layout, column, name),
                       model.dtype(), model.shape(), row);
    }
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    to += from.size();
    row += run.size();
  }
  return tensor;
}

}  // namespace

std::shared_ptr<const Block> Gather(const std::vector<Run>& runs) {
  const Layout& layout = *runs.front().block->layout;
  CheckSameColumns(runs);
  const std::int64_t rows = TotalRows(runs);
  Example::Columns columns;
  columns.reserve(layout.size());
  for (std::size_t i = 0; i < layout.size(); ++i) {
    columns.emplace_back(layout[i].name, GatherColumn(runs, i, rows));
  }
  return OneRow(columns);
}

}  // namespace capstan
