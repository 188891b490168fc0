// How many shards a variable is split into, and where. The partitioners
// themselves are public, in capstan/partitioner.h.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "capstan/partitioner.h"
#include "capstan/variable.h"

namespace capstan {

// Each shard costs a message on every push and pull; more than this is a
// mistake.
inline constexpr int64_t kMaxShards = 65536;
// Row numbers within a shard are 32 bits wide on the wire.
inline constexpr int64_t kMaxShardRows = UINT32_MAX;

struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// The rows [0, rows) in `shards` adjacent ranges, as evenly as possible: the
// first rows % shards of them have one row more. This is TensorFlow's "div".
// `shards` is in [1, max(1, rows)].
std::vector<RowRange> SplitRows(int64_t rows, int64_t shards);

// Whether the variable must stay in one piece, regardless of the partitioner: a
// scalar, a colocated variable, or one whose initial value needs the whole.
bool IsIndivisible(const VariableSpec& spec);

// The number of shards that the partitioner chooses for the variable.
// Partitioners are user code and may throw or return nonsense: then
// InvalidArgument, naming the variable; also if a shard would have more than
// kMaxShardRows rows.
absl::StatusOr<int64_t> CountShards(const VariableSpec& spec,
                                    const Partitioner& partitioner);

}  // namespace capstan
