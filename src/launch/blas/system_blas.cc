#include "launch/blas/system_blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "launch/blas/blas_core.h"
#include "launch/system/run_and_read.h"

namespace capstan {
namespace {

using BlasJson = nlohmann::json;

constexpr char kFile[] = "libblas.so.3";

}  // namespace

absl::StatusOr<BlasInfo> LoadAndProbeBlas() {
  // Never closed: the library may have started threads.
  if (dlopen(kFile, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const char* reason = dlerror();
    return absl::NotFoundError(reason == nullptr ? kFile : reason);
  }
  std::optional<BlasInfo> blas = ProbeBlas();
  if (blas) return *std::move(blas);
  return absl::NotFoundError(absl::StrCat(kFile, " has no sgemm_"));
}

std::string ToJson(const BlasInfo& blas) {
  return BlasJson{{"library", static_cast<int>(blas.library)},
                  {"path", blas.path},
                  {"core", blas.core},
                  {"threads", blas.threads},
                  {"gflops", blas.gflops}}
      .dump(-1, ' ', false, BlasJson::error_handler_t::replace);
}

absl::StatusOr<BlasInfo> ParseBlasInfo(std::string_view json) {
  const BlasJson value = BlasJson::parse(json, nullptr, false);
  BlasInfo blas;
  try {
    const int library = value.at("library").get<int>();
    if (library < 0 || library > static_cast<int>(BlasLibrary::kOther)) {
      return absl::InvalidArgumentError("no such library");
    }
    blas.library = static_cast<BlasLibrary>(library);
    value.at("path").get_to(blas.path);
    value.at("core").get_to(blas.core);
    value.at("threads").get_to(blas.threads);
    value.at("gflops").get_to(blas.gflops);
  } catch (const BlasJson::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return blas;
}

absl::StatusOr<BlasInfo> ProbeSystemBlas(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment, Duration timeout) {
  std::vector<std::string> variables = environment;
  const std::string prefix = absl::StrCat(
      absl::string_view(kBlasCoreVariable.data(), kBlasCoreVariable.size()),
      "=");
  const std::string core = OpenBlasCoreFor(ReadCpuFeatures());
  const bool is_set = std::any_of(
      variables.begin(), variables.end(),
      [&](const std::string& entry) { return entry.starts_with(prefix); });
  if (!is_set && !core.empty()) variables.push_back(prefix + core);
  const absl::StatusOr<std::string> said =
      RunAndRead(program, arguments, variables, timeout);
  CAPSTAN_RETURN_IF_ERROR(said.status());
  return ParseBlasInfo(*said);
}

}  // namespace capstan
