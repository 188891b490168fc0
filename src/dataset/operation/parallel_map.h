// Map with threads.
#pragma once

#include <functional>
#include <memory>

#include "capstan/dataset.h"
#include "dataset/recipe/recipe.h"

namespace capstan {

using MapFunction = std::function<Example(const Example&)>;

// The thread that calls Next reads the input, up to twice `parallel` elements
// ahead; `parallel` threads call `function`, which must outlive the cursor. The
// order is that of the input.
std::unique_ptr<Cursor> OpenParallelMap(std::unique_ptr<Cursor> input,
                                        const MapFunction& function,
                                        int parallel);

}  // namespace capstan
