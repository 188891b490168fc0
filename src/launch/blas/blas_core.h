// Which kernels OpenBLAS should take. It has a set for each CPU that was known
// when it was built, and for a newer one takes those of 2004 ("Prescott"),
// which are a third as fast. The variable OPENBLAS_CORETYPE names another set;
// it is read when the library is loaded, that is before main.
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "capstan/resolver.h"
#include "launch/system/cpu_features.h"

namespace capstan {

inline constexpr std::string_view kBlasCoreVariable = "OPENBLAS_CORETYPE";
// Set in a process that was started again for its kernels.
inline constexpr std::string_view kBlasRestartVariable =
    "CAPSTAN_BLAS_RESTARTED";

// The fastest kernels that every OpenBLAS has for such a CPU: "SKYLAKEX",
// "HASWELL", or "" if it is to choose itself.
std::string OpenBlasCoreFor(const CpuFeatures& cpu);

// Whether the kernels that OpenBLAS calls `core` are from before AVX2. False
// for a name that is not known.
bool IsOldCore(std::string_view core);

// The kernels with which a process should be started again, in which OpenBLAS
// has taken `core`. nullopt if those are fine, if there are no better ones, if
// the user has chosen, or if it was started again already.
std::optional<std::string> CoreToRestartWith(std::string_view core,
                                             const CpuFeatures& cpu,
                                             const Environment& environment);

}  // namespace capstan
