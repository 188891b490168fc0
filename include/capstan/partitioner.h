// Partitioners: how many shards a variable is cut into, along its first axis.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan {

// From shape and dtype to a number of shards, 1 to 65,536. Users may write
// their own. More shards than rows count as the number of rows. A scalar, a
// colocated variable and an Orthogonal variable are never cut, and the
// partitioner is not called for them. If it throws or returns less than 1, the
// creation of the variable fails with an error that names the variable.
using Partitioner = std::function<std::int64_t(const Shape&, DType)>;

// These compute the same numbers as the partitioners of TensorFlow. They throw
// kInvalidArgument for arguments below 1.

// min(num_shards, rows).
CAPSTAN_EXPORT Partitioner FixedShards(std::int64_t num_shards);

// As many shards of about `min_shard_bytes` as the variable fills, rounded up,
// but at most `max_shards`, and at most one per row.
CAPSTAN_EXPORT Partitioner MinSize(std::int64_t min_shard_bytes = 256 << 10,
                                   std::int64_t max_shards = 1);

// Shards of at most `max_shard_bytes`, unless a single row is larger, or
// `max_shards` does not allow that many.
CAPSTAN_EXPORT Partitioner
MaxSize(std::int64_t max_shard_bytes,
        std::optional<std::int64_t> max_shards = std::nullopt);

}  // namespace capstan
