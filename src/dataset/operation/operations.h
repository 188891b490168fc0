// The operations of a Dataset, each in the file of its name. They check their
// arguments and throw kInvalidArgument. See Dataset for what they do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capstan/dataset.h"
#include "dataset/recipe/recipe.h"

namespace capstan {

RecipePtr MakeRange(std::int64_t begin, std::int64_t end, std::int64_t step);
RecipePtr MakeGenerator(std::function<Dataset::Source()> make);

RecipePtr MakeShard(RecipePtr input, std::int64_t n, std::int64_t i);
RecipePtr MakeShuffle(RecipePtr input, std::int64_t buffer,
                      ShuffleOptions options);
RecipePtr MakeRepeat(RecipePtr input, std::int64_t count);
RecipePtr MakeBatch(RecipePtr input, std::int64_t n, BatchOptions options);
RecipePtr MakePaddedBatch(RecipePtr input, std::int64_t n,
                          PaddedBatchOptions options);
RecipePtr MakeMap(RecipePtr input,
                  std::function<Example(const Example&)> function,
                  MapOptions options);
RecipePtr MakeFilter(RecipePtr input,
                     std::function<bool(const Example&)> predicate);
RecipePtr MakeTake(RecipePtr input, std::int64_t n);
RecipePtr MakeSkip(RecipePtr input, std::int64_t n);
RecipePtr MakeInterleave(RecipePtr input,
                         std::function<Dataset(const Example&)> function,
                         InterleaveOptions options);
RecipePtr MakePrefetch(RecipePtr input, std::int64_t n);
RecipePtr MakeCache(RecipePtr input);
RecipePtr MakeZip(std::vector<RecipePtr> inputs);
RecipePtr MakeConcatenate(RecipePtr first, RecipePtr second);

}  // namespace capstan
