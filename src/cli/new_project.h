// The starter project that `capstan new` writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace capstan {

struct ProjectFile {
  std::string name;
  std::string content;
};

// The files of a project called `name` that builds against an installed
// Capstan of this version: CMakeLists.txt, main.cc, README.md, .gitignore.
// Pure; thread-safe.
std::vector<ProjectFile> StarterProject(const std::string& name);

// A name for a project in `directory`: the last component of the path, with '_'
// for characters not allowed in the name of a CMake target; "train" if nothing
// is left. Pure; thread-safe.
std::string ProjectName(std::string_view directory);

// Writes the starter project into `directory`, which is created if missing.
// FailedPrecondition, before anything is written, if `directory` is not empty
// or not a directory; otherwise the system's error, naming the file.
absl::Status WriteStarterProject(const std::string& directory);

}  // namespace capstan
