// Where in the server's root for checkpoints a request wants something to be.
// What comes from the network is names, never paths.
#pragma once

#include <memory>
#include <string>

#include "base/file/file_system.h"
#include "base/status.h"
#include "wire/snapshot.h"

namespace capstan {

// The path of a directory. InvalidArgument, showing it, if a name of it is none
// (checkpoint/manifest.h); the last may begin with ".tmp-", as that of a
// checkpoint that is being written does. Pure; thread-safe.
absl::StatusOr<std::string> PathOf(const SharedDirectory& directory);

// OK if the directory of that path is the caller's: the probe is in it. Else
// NotFound that says why. Blocks.
absl::Status CheckProbe(const FileSystem& files, const std::string& path,
                        const SharedDirectory& directory);

// A file of a directory.
struct CheckpointPlace {
  std::shared_ptr<FileSystem> files;
  std::string directory;
  std::string path;
};

// Where the file that a request names is below `root`. Errors of PathOf;
// InvalidArgument if `file` is no name; NotFound, which says what to do, if the
// server has no root: then it is null. Pure; thread-safe.
absl::StatusOr<CheckpointPlace> PlaceOf(std::shared_ptr<FileSystem> root,
                                        const SharedDirectory& directory,
                                        const std::string& file);

}  // namespace capstan
