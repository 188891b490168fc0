// Plans which rows to copy where so that the variables of a job get the values
// of a file of whole tensors. Pure; thread-safe.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/checkpoint.h"
#include "checkpoint/tensor_file/convert_floats.h"
#include "checkpoint/tensor_file/tensor_source.h"
#include "coordinator/checkpoint/plan_restore.h"
#include "variable/shard_map.h"

namespace capstan {

struct ImportPlan {
  RestorePlan restore;  // all of file 0; row_bytes are the variable's
  ConvertedTensors::Conversions conversions;
};

// Imports `tensors` into the variables of `map` that `options` select; if
// `names` is not null, only into those of them. FailedPrecondition, naming the
// variables, if one is missing or does not match.
absl::StatusOr<ImportPlan> PlanImport(const std::vector<FileTensor>& tensors,
                                      const ShardMap& map,
                                      const ImportOptions& options,
                                      const std::set<std::string>* names);

}  // namespace capstan
