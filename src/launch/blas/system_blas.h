// The BLAS of this machine that programs with Debian's libtorch get, as a
// worker would see it. It is probed in a separate process, because a loaded
// library cannot be unloaded and its kernels are chosen before it is loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "launch/blas/blas_info.h"

namespace capstan {

// In the separate process: loads libblas.so.3 and measures it. NotFound, with
// the loader's reason, if there is none.
absl::StatusOr<BlasInfo> LoadAndProbeBlas();

// How that process reports to its parent: as one line of JSON. ParseBlasInfo
// returns InvalidArgument for a malformed line. Pure.
std::string ToJson(const BlasInfo& blas);
absl::StatusOr<BlasInfo> ParseBlasInfo(std::string_view json);

// Starts the separate process: `program` with `arguments`, which must print
// what LoadAndProbeBlas finds. Its environment is what `capstan run` would give
// a worker that inherits `environment`. Fails like RunAndRead and
// ParseBlasInfo.
absl::StatusOr<BlasInfo> ProbeSystemBlas(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment, Duration timeout);

}  // namespace capstan
