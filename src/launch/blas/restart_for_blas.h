// Restarts this program if its BLAS is slower than it needs to be.
#pragma once

namespace capstan {

// If OpenBLAS is in this process and uses old kernels although the CPU supports
// better ones (see CoreToRestartWith), executes the program's file again, in
// the same process, with the same arguments and OPENBLAS_CORETYPE set; then
// this call does not return. Otherwise, or if that fails, does nothing.
//
// Call this first in main: a restart ends other threads and loses anything
// already read from standard input. To prevent the restart, set
// OPENBLAS_CORETYPE. A debugger sees a second start (gdb continues with it).
void RestartForBlas(int argc, char** argv);

}  // namespace capstan
