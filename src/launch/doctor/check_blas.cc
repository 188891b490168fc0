#include "launch/doctor/check_blas.h"

#include <fmt/format.h>

namespace capstan {

Findings CheckBlas(const absl::StatusOr<BlasInfo>& blas,
                   const CpuFeatures& cpu) {
  if (!blas.ok()) {
    return {{FindingLevel::kWarning,
             fmt::format("BLAS: none that could be looked at: {}",
                         std::string(blas.status().message())),
             "a program with libtorch needs one; on Debian: apt install "
             "libopenblas0-pthread"}};
  }
  BlasVerdict verdict = Judge(*blas, cpu);
  if (!blas->path.empty()) verdict.what += " (" + blas->path + ")";
  return {{verdict.slow ? FindingLevel::kWarning : FindingLevel::kOk,
           std::move(verdict.what), std::move(verdict.remedy)}};
}

}  // namespace capstan
