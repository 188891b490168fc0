// Finds the checkpoints that a command line names. Functions block, and throw
// capstan::Error.
#pragma once

#include <memory>
#include <string>

#include "base/file/posix_file_system.h"
#include "checkpoint/directory.h"

namespace capstan {

// A file or directory, named relative to a FileSystem above it.
struct Place {
  std::unique_ptr<PosixFileSystem> files;
  std::string path;
};

// The directory `argument`, absolute or relative; links are followed. Throws
// kNotFound if it does not exist.
Place FindPlace(const std::string& argument);

// A file to be written; its directory must exist.
Place NewFilePlace(const std::string& argument);

struct ChosenCheckpoint {
  Place place;
  Checkpoint checkpoint;
};

// `argument` is a checkpoint, or a directory of checkpoints, which means the
// newest that is not damaged; each damaged one gets a line on standard error.
// Throws kNotFound, kDataLoss.
ChosenCheckpoint FindCheckpoint(const std::string& argument);

}  // namespace capstan
