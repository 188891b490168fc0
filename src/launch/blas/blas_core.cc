#include "launch/blas/blas_core.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"

namespace capstan {
namespace {

// OpenBLAS's names for its x86-64 kernels without AVX2.
constexpr std::array<std::string_view, 19> kOldCores = {
    "Generic", "Katmai",      "Coppermine", "Northwood", "Prescott",
    "Banias",  "Atom",        "Core2",      "Penryn",    "Dunnington",
    "Nehalem", "Sandybridge", "Athlon",     "Opteron",   "Opteron_SSE3",
    "Bobcat",  "Barcelona",   "Bulldozer",  "Piledriver"};

}  // namespace

std::string OpenBlasCoreFor(const CpuFeatures& cpu) {
  if (cpu.avx512) return "SKYLAKEX";
  return cpu.avx2_and_fma ? "HASWELL" : "";
}

bool IsOldCore(std::string_view core) {
  return std::any_of(kOldCores.begin(), kOldCores.end(),
                     [core](std::string_view old) {
                       return absl::EqualsIgnoreCase({core.data(), core.size()},
                                                     {old.data(), old.size()});
                     });
}

std::optional<std::string> CoreToRestartWith(std::string_view core,
                                             const CpuFeatures& cpu,
                                             const Environment& environment) {
  if (environment.Has(kBlasCoreVariable) ||
      environment.Has(kBlasRestartVariable) || !IsOldCore(core)) {
    return std::nullopt;
  }
  std::string better = OpenBlasCoreFor(cpu);
  if (better.empty()) return std::nullopt;
  return better;
}

}  // namespace capstan
