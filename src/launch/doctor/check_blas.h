// Whether libtorch computes fast on this machine.
#pragma once

#include "absl/status/statusor.h"
#include "launch/blas/blas_info.h"
#include "launch/doctor/finding.h"
#include "launch/system/cpu_features.h"

namespace capstan {

// Findings about the machine's BLAS, or that it could not be examined. Never a
// problem: not every program needs a BLAS. Pure.
Findings CheckBlas(const absl::StatusOr<BlasInfo>& blas,
                   const CpuFeatures& cpu);

}  // namespace capstan
