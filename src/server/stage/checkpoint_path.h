// Where the files that a request names are below the server's checkpoint root.
// Requests contain names, never paths.
#pragma once

#include <memory>
#include <string>

#include "base/file/file_system.h"
#include "base/status.h"
#include "wire/snapshot.h"

namespace capstan {

// The path of a directory. InvalidArgument, showing it, if one of its names is
// invalid (checkpoint/manifest.h). The last name may begin with ".tmp-", like
// that of a checkpoint that is being written. Pure; thread-safe.
absl::StatusOr<std::string> PathOf(const SharedDirectory& directory);

// OK if the directory of that path is the caller's, that is, if the probe is in
// it. Else NotFound that says why. Blocks.
absl::Status CheckProbe(const FileSystem& files, const std::string& path,
                        const SharedDirectory& directory);

// A file in a directory.
struct CheckpointPlace {
  std::shared_ptr<FileSystem> files;
  std::string directory;
  std::string path;
};

// Where the file that a request names is below `root`, which is null if the
// server has none. Errors of PathOf; InvalidArgument if `file` is not a valid
// name; NotFound, which says what to do, if `root` is null. Pure; thread-safe.
absl::StatusOr<CheckpointPlace> PlaceOf(std::shared_ptr<FileSystem> root,
                                        const SharedDirectory& directory,
                                        const std::string& file);

}  // namespace capstan
