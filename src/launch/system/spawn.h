// Starts a program: as a child process whose output can be read, or instead of
// the one that runs.
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
  // Its standard output and error, in the order in which it writes them; does
  // not block.
  FileDescriptor output = {};
};

// Runs the file `program` with `arguments` (its name first) and exactly the
// variables `environment`. The child reads nothing, has default dispositions
// for SIGINT, SIGTERM and SIGPIPE and no signal blocked. Signals from the
// terminal do not reach it, as its group is its own. It is killed when the
// thread that called this ends, however that happens; processes that the child
// starts in turn are not.
// NotFound or PermissionDenied (see CannotRunExitCode) if the file cannot be
// executed, ResourceExhausted if the system has no process or descriptor left.
absl::StatusOr<SpawnedProcess> Spawn(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment);

// Makes this process the program instead, with signals as they are. Returns
// only if it cannot be executed, with the errors of Spawn.
absl::Status Become(const std::string& program,
                    const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment);

}  // namespace capstan
