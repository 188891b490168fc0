// Finds the program that a command names, as a shell does.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan {

// The path to run for `name`: `name` itself if it has a slash, otherwise the
// first executable file of that name in the folders of `search_path` (as in
// PATH, separated by ':'). NotFound if there is no such file, PermissionDenied
// if there is one but it cannot be executed. Thread-safe.
absl::StatusOr<std::string> FindProgram(std::string_view name,
                                        std::string_view search_path);

// The exit code that shells give a command that could not be started: 127 for
// NotFound, 126 for PermissionDenied; 1 for all other errors.
int CannotRunExitCode(const absl::Status& status);

}  // namespace capstan
