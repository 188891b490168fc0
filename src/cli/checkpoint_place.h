// Where the checkpoints are that a command line names. Functions block, and
// throw capstan::Error.
#pragma once

#include <memory>
#include <string>

#include "base/file/posix_file_system.h"
#include "checkpoint/directory.h"

namespace capstan {

// A file or directory as the FileSystem above it sees it.
struct Place {
  std::unique_ptr<PosixFileSystem> files;
  std::string path;
};

// The directory `argument`, absolute or relative, through links or not. Throws
// kNotFound if it is not there.
Place FindPlace(const std::string& argument);

// A file to be written; the directory that is to hold it must be there.
Place NewFilePlace(const std::string& argument);

struct ChosenCheckpoint {
  Place place;
  Checkpoint checkpoint;
};

// `argument` is a checkpoint, or a directory of some, of which the newest is
// meant; those that are damaged are passed over, with a line on standard error
// each. Throws kNotFound, kDataLoss.
ChosenCheckpoint FindCheckpoint(const std::string& argument);

}  // namespace capstan
