// Rows to be combined come from blocks that mostly share the same Layout
// object; blocks made by users each have their own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dataset/recipe/block.h"

namespace capstan {

// Throws kInvalidArgument unless all runs have columns of the same names.
void CheckSameColumns(const std::vector<Run>& runs);

// The index in `layout` of the column `name`, which is at `column` of `first`.
// It must exist.
std::size_t ColumnOf(const Layout& layout, const Layout& first,
                     std::size_t column, const std::string& name);

}  // namespace capstan
