// Starts this program again if the BLAS in it is slower than it need be.
#pragma once

namespace capstan {

// If OpenBLAS is in this process and has taken old kernels although the CPU
// has better ones (see CoreToRestartWith), executes the program's file again,
// in the same process, with the same arguments and OPENBLAS_CORETYPE set; this
// copy does not return. Else, and if that fails, does nothing.
//
// To be called first of all in main: other threads are gone after it, and what
// was read from standard input is lost. Whoever does not want it sets
// OPENBLAS_CORETYPE. A debugger sees a second start (gdb goes on with it).
void RestartForBlas(int argc, char** argv);

}  // namespace capstan
