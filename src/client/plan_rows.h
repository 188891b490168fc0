// Splits a list of ids along the shards of a variable, each id once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "variable/shard_map.h"

namespace capstan {

// The rows requested from a shard.
struct ShardRows {
  uint32_t shard = 0;
  std::vector<uint32_t> rows;  // counted from the shard's first
};

struct RowPlan {
  std::vector<ShardRows> shards;  // those with any rows, in order
  // The index of the i-th id among all rows above, one shard after the other.
  std::vector<uint32_t> place;
  size_t num_rows = 0;
  // Whether rows are in the order in which their ids first appear, as they are
  // if only one shard is asked: then place[i] <= i.
  bool by_appearance = false;
  // Whether place[i] is i for all of them; also implies that no id occurs
  // twice.
  bool in_order = false;
};

// With `unique` each row is requested once, however often its id occurs.
// OutOfRange, naming the variable, the id and its position, for an id that is
// not one of the variable's rows; InvalidArgument for more than 2^32 - 1 ids.
absl::StatusOr<RowPlan> PlanRows(const VariableEntry& entry,
                                 std::span<const int64_t> ids, bool unique);

}  // namespace capstan
