// Writing a file piece by piece so that it appears completely or not at all.
// Blocks.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "base/file/file_system.h"

namespace capstan {

// Like ReplaceFile, with the same `path`.tmp, but the content is what `write`
// appends. If that fails, the old file is kept.
absl::Status WriteReplacing(
    FileSystem& files, std::string_view path,
    const std::function<absl::Status(WritableFile& file)>& write);

}  // namespace capstan
