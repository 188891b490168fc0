// How many files and sockets this process may have open.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace capstan {

// Raises the limit to 65,536, or as far as the system lets a process raise it
// itself; never lowers it. Systems give processes 1,024 at first, and a
// parameter server with 1,000 workers has 2,000 sockets. Does nothing if the
// system refuses.
void RaiseOpenFileLimit();

// What to do about `error`, to be appended to its text, if it says that too
// many files are open; else "".
std::string OpenFilesRemedy(int error);

}  // namespace capstan
