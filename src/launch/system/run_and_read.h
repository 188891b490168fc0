// Runs a program to its end and returns its output.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"

namespace capstan {

// What `program` writes on standard output and error until it exits with code
// 0; arguments and environment as for Spawn. It is killed if it closes both
// before it exits. Aborted, with its output, if it ends otherwise;
// DeadlineExceeded if it takes longer than `timeout`, when it is killed; also
// the errors of Spawn. Keeps the first 64 KiB of its output. Blocks. Do not use
// it while others reap the children of this process.
absl::StatusOr<std::string> RunAndRead(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment, Duration timeout);

}  // namespace capstan
