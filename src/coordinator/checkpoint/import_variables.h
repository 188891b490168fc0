// Brings tensors of a file into the variables of a job. Blocks, on a thread of
// the caller's.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/checkpoint.h"
#include "checkpoint/tensor_file/tensor_file.h"
#include "coordinator/coordinator_impl.h"

namespace capstan {

// As ImportVariables (capstan/checkpoint.h), of a file that is open; of the
// variables only `names`, if it is not null.
absl::StatusOr<RestoreReport> ImportFrom(
    CoordinatorMaker::Impl& coordinator_impl, const TensorFile& file,
    const ImportOptions& options, const std::set<std::string>* names);

}  // namespace capstan
