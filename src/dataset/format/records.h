// A source that reads the records of files.
#pragma once

#include <memory>
#include <string>

#include "dataset/format/record_format.h"
#include "dataset/recipe/recipe.h"

namespace capstan {

// All files that `pattern` matches, in the order of their names.
RecipePtr MakeRecords(std::string pattern,
                      std::unique_ptr<const RecordFormat> format);

// The same, read by number: scans the files.
std::shared_ptr<const Table> OpenRecordTable(const std::string& pattern,
                                             const RecordFormat& format);

}  // namespace capstan
