#include "launch/blas/prepare_blas.h"

#include <fmt/core.h>

#include <cstdio>
#include <optional>

#include "launch/blas/blas_info.h"
#include "launch/system/cpu_features.h"

namespace capstan {

void PrepareBlas(std::string_view who, int threads,
                 const Environment& environment) {
  if (!FindBlas()) return;
  if (!environment.Has("OPENBLAS_NUM_THREADS") &&
      !environment.Has("MKL_NUM_THREADS") &&
      !environment.Has("OMP_NUM_THREADS")) {
    SetBlasThreads(threads);
  }
  const std::optional<BlasInfo> blas = ProbeBlas();
  const BlasVerdict verdict = Judge(*blas, ReadCpuFeatures());
  if (!verdict.slow) return;
  fmt::print(stderr, "{}: slow {}: {}\n", who, verdict.what, verdict.remedy);
}

}  // namespace capstan
