// The sources of a Dataset that hold or read values, each in the file of its
// name. They check their arguments and throw kInvalidArgument. See Dataset for
// what they do.
#pragma once

#include <memory>
#include <string>

#include "capstan/dataset.h"
#include "dataset/recipe/block.h"
#include "dataset/recipe/recipe.h"

namespace capstan {

RecipePtr MakeTensors(std::shared_ptr<const Block> rows);
RecipePtr MakeIdx(std::string images, std::string labels, IdxOptions options);
RecipePtr MakeNpy(std::string path, std::string name);
RecipePtr MakeCsv(std::string pattern, const CsvOptions& options);
RecipePtr MakeLibSvm(std::string pattern, LibSvmOptions options);
RecipePtr MakeTfRecord(std::string pattern, TfRecordOptions options);

}  // namespace capstan
