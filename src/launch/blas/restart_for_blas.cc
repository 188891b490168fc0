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
  // Its own name and not /proc/self/exe, which would be the name in ps.
  std::error_code error;
  std::filesystem::path file =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  std::fflush(nullptr);
  // It returns only if it failed: then the slow kernels have to do, and are
  // reported.
  (void)Become(file.string(), std::vector<std::string>(argv, argv + argc),
               environment);
}

}  // namespace capstan
