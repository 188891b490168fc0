// Makes a batch of rows: one row, with a tensor for each column that stacks the
// rows' values along a new first axis.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataset/recipe/block.h"

namespace capstan {

// Rows must have the same columns, of equal types and shapes; otherwise throws
// kInvalidArgument, naming the column. `runs` must not be empty.
std::shared_ptr<const Block> Gather(const std::vector<Run>& runs);

// Like Gather, but shapes need only have the same rank: each axis is as long as
// the longest, and filled with the column's padding, or 0.
std::shared_ptr<const Block> GatherPadded(
    const std::vector<Run>& runs, const std::map<std::string, double>& padding);

}  // namespace capstan
