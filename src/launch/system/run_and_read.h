// Runs a program to its end for what it says.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"

namespace capstan {

// What `program` writes, on standard output and error, until it ends with code
// 0; arguments and environment as for Spawn. It is killed if it closes them
// before. Aborted, with what it wrote last,
// if it ends otherwise; DeadlineExceeded if it takes longer than `timeout`, and
// it is killed; the errors of Spawn. Takes no more than 64 KiB of its output.
// Blocks. Not while others reap the children of this process.
absl::StatusOr<std::string> RunAndRead(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment, Duration timeout);

}  // namespace capstan
