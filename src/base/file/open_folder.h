// Where a path of the user's leads: the folder, as a FileSystem, and the name.
#pragma once

#include <memory>
#include <string>

#include "base/file/file_system.h"

namespace capstan {

enum class IfMissing { kFail, kCreate };

struct FileInFolder {
  std::unique_ptr<FileSystem> folder;
  std::string name;
};

// The folder `path`. If it is to be created, those above it that are missing
// are made too, each for its owner alone, and durably; one that is there keeps
// its mode. Throws kNotFound and the like, naming it.
std::unique_ptr<FileSystem> OpenFolder(const std::string& path,
                                       IfMissing if_missing);

// Makes it durable that the folder `path`, which is there, has its name, as far
// as we may: whoever has made it may not have done so. An error is no harm that
// the caller could do anything about.
void SyncNameOf(const std::string& path);

// The folder of the file `path`. Throws kInvalidArgument if it names no file.
FileInFolder OpenFolderOf(const std::string& path, IfMissing if_missing);

}  // namespace capstan
