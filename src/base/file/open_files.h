// How many files and sockets this process may have open. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace capstan {

// Raises the limit to 65,536, or as far as the process may raise it itself;
// never lowers it. The usual default is 1,024, but a parameter server with
// 1,000 workers has 2,000 sockets. Does nothing if the system refuses.
void RaiseOpenFileLimit();

// Advice to append to the text of `error`, if `error` means that too many files
// are open; otherwise "".
std::string OpenFilesRemedy(int error);

}  // namespace capstan
