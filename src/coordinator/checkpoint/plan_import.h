// What has to be copied where to bring the variables of a job to what a file of
// whole tensors holds. Pure; thread-safe.
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
  RestorePlan restore;  // the only file is 0; row_bytes are the variable's
  ConvertedTensors::Conversions conversions;
};

// Imports `tensors` into the variables of `map` that `options` name; of those
// only `names`, if it is not null. FailedPrecondition, naming the variables, if
// one is missing or is another one.
absl::StatusOr<ImportPlan> PlanImport(const std::vector<FileTensor>& tensors,
                                      const ShardMap& map,
                                      const ImportOptions& options,
                                      const std::set<std::string>* names);

}  // namespace capstan
