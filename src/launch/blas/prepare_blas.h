// Makes the BLAS of a worker, if there is one in its program, ready for use.
#pragma once

#include <string_view>

#include "capstan/resolver.h"

namespace capstan {

// Lets the BLAS use `threads` threads, unless OPENBLAS_NUM_THREADS,
// MKL_NUM_THREADS or OMP_NUM_THREADS say how many, and measures it: if it is
// slow (see Judge), says so in one line on standard error, as `who`, with what
// to do. Without a BLAS it does nothing.
void PrepareBlas(std::string_view who, int threads,
                 const Environment& environment);

}  // namespace capstan
