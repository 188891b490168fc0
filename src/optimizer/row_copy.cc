#include "optimizer/row_copy.h"

#include <algorithm>
#include <cstring>

#include "optimizer/prefetch.h"

namespace capstan {
namespace {

// With the size known at compile time a copy is one or two moves instead of a
// call. 0 means any size.
template <size_t kSize>
void CopyRow(const float* from, size_t size, float* to) {
  std::memcpy(to, from, (kSize == 0 ? size : kSize) * sizeof(float));
}

template <size_t kSize>
void Gather(const float* table, std::span<const uint32_t> rows, size_t count,
            size_t size, float* out) {
  const RowPrefetch prefetch(size, 1);
  for (size_t i = 0; i < count; ++i) {
    prefetch.Row(table, rows[std::min(i + prefetch.ahead(), rows.size() - 1)]);
    CopyRow<kSize>(table + rows[i] * size, size, out + i * size);
  }
}

template <size_t kSize>
void Scatter(const float* in, std::span<const uint32_t> rows, size_t size,
             float* table) {
  for (size_t i = 0; i < rows.size(); ++i) {
    CopyRow<kSize>(in + i * size, size, table + rows[i] * size);
  }
}

}  // namespace

void GatherRows(const float* table, std::span<const uint32_t> rows,
                size_t count, size_t row_size, float* out) {
  switch (row_size) {
    case 1:
      return Gather<1>(table, rows, count, 1, out);
    case 2:
      return Gather<2>(table, rows, count, 2, out);
    case 4:
      return Gather<4>(table, rows, count, 4, out);
    case 8:
      return Gather<8>(table, rows, count, 8, out);
    default:
      return Gather<0>(table, rows, count, row_size, out);
  }
}

void ScatterRows(const float* in, std::span<const uint32_t> rows,
                 size_t row_size, float* table) {
  switch (row_size) {
    case 1:
      return Scatter<1>(in, rows, 1, table);
    case 2:
      return Scatter<2>(in, rows, 2, table);
    case 4:
      return Scatter<4>(in, rows, 4, table);
    case 8:
      return Scatter<8>(in, rows, 8, table);
    default:
      return Scatter<0>(in, rows, row_size, table);
  }
}

}  // namespace capstan
