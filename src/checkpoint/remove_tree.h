// Removing a directory and everything in it. Blocks.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "base/file/file_system.h"

namespace capstan {

// OK too if it does not exist. On failure any part of it may be left.
absl::Status RemoveTree(FileSystem& files, std::string_view path);

}  // namespace capstan
