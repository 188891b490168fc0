// The BLAS of this machine, which programs with Debian's libtorch get, as a
// worker would have it. Looked at in a process of its own: a library that was
// loaded is there to stay, and the kernels are chosen before it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "launch/blas/blas_info.h"

namespace capstan {

// In the process of its own: loads libblas.so.3 and measures it. NotFound, with
// the loader's reason, if there is none.
absl::StatusOr<BlasInfo> LoadAndProbeBlas();

// How that process tells its parent: one line of JSON, and back.
// InvalidArgument for a line that is none. Pure.
std::string ToJson(const BlasInfo& blas);
absl::StatusOr<BlasInfo> ParseBlasInfo(std::string_view json);

// Starts the process: `program` with `arguments`, which prints what
// LoadAndProbeBlas finds, in the environment that `capstan run` would give to
// a worker which inherits `environment`. The errors of RunAndRead and
// ParseBlasInfo.
absl::StatusOr<BlasInfo> ProbeSystemBlas(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment, Duration timeout);

}  // namespace capstan
