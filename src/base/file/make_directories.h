// Making a directory with those above it, durably. Blocks.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "base/file/file_system.h"

namespace capstan {

// Makes the directory `path`, and those above it that are missing, each for its
// owner alone; those that are there stay as they are. On return all of them are
// durable, also if somebody else has made them just now. FailedPrecondition if
// a file is in the way.
absl::Status MakeDirectories(FileSystem& files, std::string_view path);

}  // namespace capstan
