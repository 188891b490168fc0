// The directory under which a parameter server writes and reads checkpoints.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file/file_system.h"

namespace capstan {

// Opens `path`, and makes it, for its owner alone, if it is missing. Those
// above it must be there: a disk that is not mounted is not to be taken for a
// new one. Errors name the path and how it was given.
absl::StatusOr<std::shared_ptr<FileSystem>> OpenCheckpointRoot(
    const std::string& path);

}  // namespace capstan
