// A starter project: what `capstan new` writes.
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

// A name for a project in `directory`: the last part of its path, with '_' for
// what a program of CMake's may not have in its name; "train" if nothing of it
// is left. Pure; thread-safe.
std::string ProjectName(std::string_view directory);

// Writes the starter project into `directory`, which is made if it is missing.
// FailedPrecondition, before anything is written, if there is anything in it,
// or if it is no directory; else the system's error, naming the file.
absl::Status WriteStarterProject(const std::string& directory);

}  // namespace capstan
