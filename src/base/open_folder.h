// Where a path of the user's leads: the folder, as a FileSystem, and the name.
#pragma once

#include <memory>
#include <string>

#include "base/file_system.h"

namespace capstan {

enum class IfMissing { kFail, kCreate };

struct FileInFolder {
  std::unique_ptr<FileSystem> folder;
  std::string name;
};

// The folder `path`, with those above it if it is to be created. Throws
// kNotFound and the like, naming it.
std::unique_ptr<FileSystem> OpenFolder(const std::string& path,
                                       IfMissing if_missing);

// The folder of the file `path`. Throws kInvalidArgument if it names no file.
FileInFolder OpenFolderOf(const std::string& path, IfMissing if_missing);

}  // namespace capstan
