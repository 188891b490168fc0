// Starts a program: as a child process whose output can be read, or in place of
// the running one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launch/system/file_descriptor.h"

namespace capstan {

struct SpawnedProcess {
  // The child, which leads a process group of the same number.
  pid_t pid = -1;
  // Its standard output and error, in the order it writes them; non-blocking.
  FileDescriptor output = {};
};

// Runs the file `program` with `arguments` (its name first) and exactly the
// variables `environment`. The child has no input, default dispositions for
// SIGINT, SIGTERM and SIGPIPE, and no signals blocked. Signals from the
// terminal do not reach it because it has its own process group. It is killed
// when the thread that called this ends for any reason; processes that the
// child starts are not. NotFound or PermissionDenied (see CannotRunExitCode) if
// the file cannot be executed, ResourceExhausted if the system is out of
// processes or descriptors.
absl::StatusOr<SpawnedProcess> Spawn(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment);

// Replaces this process with the program, leaving signals unchanged. Returns
// only if the program cannot be executed, with the errors of Spawn.
absl::Status Become(const std::string& program,
                    const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment);

}  // namespace capstan
