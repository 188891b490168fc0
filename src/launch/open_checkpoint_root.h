// The directory under which a parameter server writes and reads checkpoints.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file/file_system.h"

namespace capstan {

// Opens `path`, and creates it, for its owner alone, if it is missing. Its
// parents must exist, so that an unmounted disk is not taken for a new
// directory. Errors name the path and how it was given.
absl::StatusOr<std::shared_ptr<FileSystem>> OpenCheckpointRoot(
    const std::string& path);

}  // namespace capstan
