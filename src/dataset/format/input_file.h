// The user's data files. They may be anywhere and behind symbolic links, which
// the trees of base/file/file_system.h refuse on purpose; so this file calls
// the operating system directly, and is the only one in the folder that does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file/file_system.h"

namespace capstan {

// The files that match a pattern with *, ? and [...], sorted. NotFound if there
// are none.
absl::StatusOr<std::vector<std::string>> MatchFiles(const std::string& pattern);

// Opens a file for reading. NotFound, PermissionDenied, FailedPrecondition if
// it is a directory; the message names it.
absl::StatusOr<std::unique_ptr<ReadableFile>> OpenInputFile(
    const std::string& path);

}  // namespace capstan
