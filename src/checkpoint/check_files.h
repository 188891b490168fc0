// Whether the files of a checkpoint exist. Blocks; thread-safe.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "base/file/file_system.h"
#include "checkpoint/manifest.h"

namespace capstan {

// OK if the files of the manifest are in `path` with their sizes. DataLoss,
// naming the first that is not.
absl::Status CheckFiles(const FileSystem& files, std::string_view path,
                        const Manifest& manifest);

}  // namespace capstan
