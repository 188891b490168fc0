// Sets up the BLAS of a worker, if its program has one.
#pragma once

#include <string_view>

#include "capstan/resolver.h"

namespace capstan {

// Lets the BLAS use `threads` threads, unless OPENBLAS_NUM_THREADS,
// MKL_NUM_THREADS or OMP_NUM_THREADS is set, and measures it. If it is slow
// (see Judge), prints one line on standard error, as `who`, that says what to
// do. Does nothing without a BLAS.
void PrepareBlas(std::string_view who, int threads,
                 const Environment& environment);

}  // namespace capstan
