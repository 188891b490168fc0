// Imports tensors of a file into the variables of a job. Blocks, on one of the
// caller's threads.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/checkpoint.h"
#include "checkpoint/tensor_file/tensor_file.h"
#include "coordinator/coordinator_impl.h"

namespace capstan {

// Like ImportVariables (capstan/checkpoint.h), for a file that is already open.
// If `names` is not null, only those variables are imported.
absl::StatusOr<RestoreReport> ImportFrom(
    CoordinatorMaker::Impl& coordinator_impl, const TensorFile& file,
    const ImportOptions& options, const std::set<std::string>* names);

}  // namespace capstan
