// Which kernels OpenBLAS should use. It has a set for each CPU known when it
// was built; on a newer CPU it falls back to those of 2004 ("Prescott"), which
// are a third as fast. The variable OPENBLAS_CORETYPE selects another set; it
// is read when the library is loaded, that is, before main.
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "capstan/resolver.h"
#include "launch/system/cpu_features.h"

namespace capstan {

inline constexpr std::string_view kBlasCoreVariable = "OPENBLAS_CORETYPE";
// Set in a process that was restarted to change kernels.
inline constexpr std::string_view kBlasRestartVariable =
    "CAPSTAN_BLAS_RESTARTED";

// The fastest kernels for this CPU that every OpenBLAS has: "SKYLAKEX",
// "HASWELL", or "" to let OpenBLAS choose.
std::string OpenBlasCoreFor(const CpuFeatures& cpu);

// Whether the kernels that OpenBLAS calls `core` predate AVX2. False for an
// unknown name.
bool IsOldCore(std::string_view core);

// The kernels with which to restart a process whose OpenBLAS uses `core`.
// nullopt if `core` is fine, if nothing better exists, if the user has chosen,
// or if the process was already restarted.
std::optional<std::string> CoreToRestartWith(std::string_view core,
                                             const CpuFeatures& cpu,
                                             const Environment& environment);

}  // namespace capstan
