// Kinds of CPUs. Test-only.
#pragma once

#include "launch/system/cpu_features.h"

namespace capstan::testing {

inline constexpr CpuFeatures kOld = {};
inline constexpr CpuFeatures kAvx2 = {.avx2_and_fma = true};
inline constexpr CpuFeatures kAvx512 = {.avx2_and_fma = true, .avx512 = true};

}  // namespace capstan::testing
