// How a process ended, in words and as an exit code. Pure functions;
// thread-safe.
#pragma once

#include <string>

namespace capstan {

// `status` is as from waitpid and not 0: "failed with exit code 3", "was killed
// by SIGSEGV".
std::string DescribeExit(int status);

// As in a shell: the program's code, or 128 plus the signal's number.
int ExitCodeOf(int status);

}  // namespace capstan
