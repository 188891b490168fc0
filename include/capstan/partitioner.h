// Partitioners: into how many shards, along the first axis, a variable is cut.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan {

// From shape and dtype to a number of shards, 1 to 65,536. A user's own
// function will do. More shards than rows count as the number of rows. A
// scalar, a colocated and an Orthogonal variable are never cut, and not asked
// about. One that throws or answers less than 1 fails the creation of the
// variable by name.
using Partitioner = std::function<std::int64_t(const Shape&, DType)>;

// These have the arithmetic of the partitioners of TensorFlow. They throw
// kInvalidArgument for arguments below 1.

// min(num_shards, rows).
CAPSTAN_EXPORT Partitioner FixedShards(std::int64_t num_shards);

// As many shards of about `min_shard_bytes` as there are in the variable,
// rounded up, but at most `max_shards` and one per row.
CAPSTAN_EXPORT Partitioner MinSize(std::int64_t min_shard_bytes = 256 << 10,
                                   std::int64_t max_shards = 1);

// Shards of at most `max_shard_bytes`, unless a single row is larger, or
// `max_shards` forbids so many.
CAPSTAN_EXPORT Partitioner
MaxSize(std::int64_t max_shard_bytes,
        std::optional<std::int64_t> max_shards = std::nullopt);

}  // namespace capstan
