// Looks like an OpenBLAS that does not know this CPU: takes the kernels that
// OPENBLAS_CORETYPE names when it is loaded, or else "Prescott". It computes
// nothing.
#include <cstdlib>

namespace {

const char* ChosenCore() {
  const char* chosen = std::getenv("OPENBLAS_CORETYPE");
  return chosen == nullptr ? "Prescott" : chosen;
}

const char* const kCore = ChosenCore();
int threads = 64;

}  // namespace

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): the library's own.
[[gnu::visibility("default")]] void sgemm_() {}
[[gnu::visibility("default")]] const char* openblas_get_corename() {
  return kCore;
}
[[gnu::visibility("default")]] int openblas_get_num_threads() {
  return threads;
}
[[gnu::visibility("default")]] void openblas_set_num_threads(int count) {
  threads = count;
}
// NOLINTEND(readability-identifier-naming)

}  // extern "C"
