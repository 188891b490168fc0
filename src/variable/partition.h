// Into how many shards a variable is cut, and where. The partitioners
// themselves are public, in capstan/partitioner.h.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "capstan/partitioner.h"
#include "capstan/variable.h"

namespace capstan {

// A shard costs a message on every push and pull; so many are a mistake.
inline constexpr int64_t kMaxShards = 65536;
// Row numbers within a shard are 32 bits wide on the wire.
inline constexpr int64_t kMaxShardRows = UINT32_MAX;

struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// The rows [0, rows) in `shards` adjacent ranges, as evenly as can be: the
// first rows % shards of them have one row more. This is TensorFlow's "div".
// `shards` is in [1, max(1, rows)].
std::vector<RowRange> SplitRows(int64_t rows, int64_t shards);

// Whether the variable has to be in one piece, whatever the partitioner says:
// a scalar, one that is colocated, one whose initial value needs all of it.
bool IsIndivisible(const VariableSpec& spec);

// The number of shards of the variable by the partitioner, which is a user's:
// it may throw or answer nonsense. InvalidArgument, naming the variable, if it
// does, and if a shard would have more than kMaxShardRows rows.
absl::StatusOr<int64_t> CountShards(const VariableSpec& spec,
                                    const Partitioner& partitioner);

}  // namespace capstan
