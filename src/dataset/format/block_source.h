// A source whose rows are all in memory, in one block.
#pragma once

#include <memory>

#include "dataset/recipe/recipe.h"

namespace capstan {

std::unique_ptr<Cursor> OpenBlock(std::shared_ptr<const Block> block);
std::shared_ptr<const Table> OpenBlockTable(std::shared_ptr<const Block> block);

}  // namespace capstan
