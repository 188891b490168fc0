// Creating a directory and its parents, durably. Blocks.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "base/file/file_system.h"

namespace capstan {

// Creates the directory `path` and its missing parents, each accessible only to
// its owner; existing ones are left as they are. On return all of them are
// durable, even if another process has just created them. FailedPrecondition if
// a file is in the way.
absl::Status MakeDirectories(FileSystem& files, std::string_view path);

}  // namespace capstan
