// How many threads libtorch and its BLAS compute with.
#pragma once

namespace capstan {

// For the whole process, from now on. Looks up names, so not for every step.
// Thread-safe.
void UseThreads(int threads);

}  // namespace capstan
