#include "launch/blas/restart_for_blas.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "capstan/resolver.h"
#include "cluster/process_variables.h"
#include "launch/blas/blas_core.h"
#include "launch/blas/blas_info.h"
#include "launch/system/cpu_features.h"
#include "launch/system/spawn.h"

namespace capstan {

void RestartForBlas(int argc, char** argv) {
  const std::optional<BlasInfo> blas = FindBlas();
  if (!blas || argv == nullptr || argc < 1) return;
  const std::optional<std::string> core = CoreToRestartWith(
      blas->core, ReadCpuFeatures(), Environment::FromProcess());
  if (!core) return;
  std::vector<std::string> environment = ProcessVariables();
  environment.push_back(fmt::format("{}={}", kBlasCoreVariable, *core));
  environment.push_back(fmt::format("{}=1", kBlasRestartVariable));
  // The program's own name, because ps would show /proc/self/exe.
  std::error_code error;
  std::filesystem::path file =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  std::fflush(nullptr);
  // Become returns only on failure: then the slow kernels stay, and are
  // reported.
  (void)Become(file.string(), std::vector<std::string>(argv, argv + argc),
               environment);
}

}  // namespace capstan
