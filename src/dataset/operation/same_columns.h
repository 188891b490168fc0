// Rows that are to be put together come from blocks that mostly have the same
// Layout object; those that users make have each their own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dataset/recipe/block.h"

namespace capstan {

// Throws kInvalidArgument unless all runs have columns of the same names.
void CheckSameColumns(const std::vector<Run>& runs);

// Where in `layout` the column is that is called `name` and is at `column` of
// `first`. It must be there.
std::size_t ColumnOf(const Layout& layout, const Layout& first,
                     std::size_t column, const std::string& name);

}  // namespace capstan
