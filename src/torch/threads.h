// The number of threads that libtorch and its BLAS compute with.
#pragma once

namespace capstan {

// Applies to the whole process from now on. Slow (looks up symbols), so do not
// call it in every step. Thread-safe.
void UseThreads(int threads);

}  // namespace capstan
