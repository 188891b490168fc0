// Writing a file piece by piece that is there whole or not at all. Blocks.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "base/file/file_system.h"

namespace capstan {

// As ReplaceFile, with the same `path`.tmp, but what is in the file is what
// `write` appends. If that fails, the old file is left.
absl::Status WriteReplacing(
    FileSystem& files, std::string_view path,
    const std::function<absl::Status(WritableFile& file)>& write);

}  // namespace capstan
