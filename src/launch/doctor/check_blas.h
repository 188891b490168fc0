// Whether the mathematics of libtorch is fast on this machine.
#pragma once

#include "absl/status/statusor.h"
#include "launch/blas/blas_info.h"
#include "launch/doctor/finding.h"
#include "launch/system/cpu_features.h"

namespace capstan {

// What there is to say of the machine's BLAS, or that it could not be looked
// at. Never a problem: not every program needs one. Pure.
Findings CheckBlas(const absl::StatusOr<BlasInfo>& blas,
                   const CpuFeatures& cpu);

}  // namespace capstan
