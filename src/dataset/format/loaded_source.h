// A source whose file is read into memory when it is first needed, once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "dataset/recipe/recipe.h"

namespace capstan {

// `load` reads all rows, `count` returns how many there will be; both may
// throw. An exception that is not an Error becomes one that names `path`.
RecipePtr MakeLoaded(std::string path,
                     std::function<std::shared_ptr<const Block>()> load,
                     std::function<std::int64_t()> count);

}  // namespace capstan
