#include "server/shard/sum_rows.h"

#include "absl/container/flat_hash_map.h"
#include "optimizer/accumulate.h"
#include "optimizer/widen.h"

namespace capstan {

RowSums SumRows(std::span<const RowGradients> batches, size_t row_size) {
  size_t most = 0;
  for (const RowGradients& batch : batches) most += batch.rows.size();
  RowSums sums;
  sums.rows.reserve(most);
  absl::flat_hash_map<uint32_t, size_t> index;
  index.reserve(most);
  std::vector<float> row(row_size);
  for (const RowGradients& batch : batches) {
    const size_t row_bytes = row_size * SizeOf(batch.dtype);
    for (size_t i = 0; i < batch.rows.size(); ++i) {
      const auto [found, added] =
          index.emplace(batch.rows[i], sums.rows.size());
      if (added) {
        sums.rows.push_back(batch.rows[i]);
        sums.values.resize(sums.values.size() + row_size);
      }
      Widen(batch.dtype, batch.values + i * row_bytes, row_size, row.data());
      Accumulate(
          row, batch.scale,
          std::span(sums.values).subspan(found->second * row_size, row_size));
    }
  }
  return sums;
}

}  // namespace capstan
