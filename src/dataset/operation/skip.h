#pragma once

#include <cstdint>

#include "dataset/recipe/recipe.h"

namespace capstan {

// Reads `left` elements and counts `left` down to 0; false at the end. When the
// cursor throws, `left` says how many are still to be skipped.
bool SkipElements(Cursor& cursor, std::int64_t& left,
                  const Iteration& iteration);

}  // namespace capstan
