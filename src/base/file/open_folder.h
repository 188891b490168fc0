// Turns a user's path into the folder, as a FileSystem, and the name in it.
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

// Opens the folder `path`. With IfMissing::kCreate, creates it and its missing
// parents durably, each accessible only to its owner; an existing folder keeps
// its mode. Throws kNotFound and the like, naming the folder.
std::unique_ptr<FileSystem> OpenFolder(const std::string& path,
                                       IfMissing if_missing);

// Makes the name of the existing folder `path` durable if permissions allow:
// whoever created it may not have done so. Errors are ignored, since the caller
// could not do anything about them.
void SyncNameOf(const std::string& path);

// Opens the folder that contains the file `path`. Throws kInvalidArgument if
// `path` names no file.
FileInFolder OpenFolderOf(const std::string& path, IfMissing if_missing);

}  // namespace capstan
