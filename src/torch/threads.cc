#include "torch/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace capstan {

void UseThreads(int threads) {
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
  // Debian's OpenBLAS has its own threads, unknown to libtorch. Look the
  // functions up by name, because the program may be linked to another BLAS.
  using Get = int (*)();
  using Set = void (*)(int);
  const auto get =
      reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  const auto set =
      reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (get != nullptr && set != nullptr && get() != threads) set(threads);
}

}  // namespace capstan
