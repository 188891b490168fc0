// What the resolvers share: who this task is, the overrides, the variables that
// hold numbers, and the checks at the end. No exceptions.
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/resolver.h"

namespace capstan {

// FailedPrecondition, unless the variable is set.
absl::StatusOr<std::string> RequireVariable(const Environment& environment,
                                            std::string_view name,
                                            std::string_view advice);

// A variable that holds a whole number in [least, most]; nullopt if it is not
// set. InvalidArgument, naming variable and value, for anything else.
absl::StatusOr<std::optional<int>> NumberVariable(
    const Environment& environment, std::string_view name, int least, int most);

// `given`, or else the variable, or else `otherwise`. InvalidArgument if either
// is not in [least, most].
absl::StatusOr<int> GivenOrVariable(std::optional<int> given,
                                    const Environment& environment,
                                    std::string_view name, int otherwise,
                                    int least, int most);

// The task of a type and an index that are known each for itself: nullopt if
// neither is. The index of a chief or an evaluator is 0 unless somebody says
// otherwise. InvalidArgument if one is known and the other cannot be.
absl::StatusOr<std::optional<TaskId>> CombineTask(std::optional<Role> type,
                                                  std::optional<int> index);

// Sets the task by CAPSTAN_TASK if the source did not say, unless `overrides`
// do. FailedPrecondition, with both, if the source says another.
absl::Status ApplyTaskVariable(const Environment& environment,
                               const ClusterOverrides& overrides,
                               ResolvedCluster& resolved);

// Sets the job id by CAPSTAN_JOB_ID, if that is set.
void ApplyJobIdVariable(const Environment& environment,
                        ResolvedCluster& resolved);

// InvalidArgument if no sound task results, or for an unknown rpc layer.
absl::Status ApplyOverrides(const ClusterOverrides& overrides,
                            ResolvedCluster& resolved);

// Whether "capstan", or what means the same, is the name of a protocol.
bool IsKnownRpcLayer(std::string_view layer);

// OK for a job id that can be sent to other tasks, or none: up to 128 printable
// ASCII characters and no blanks. Else InvalidArgument.
absl::Status ValidateJobId(std::string_view job_id);

// The checks of ClusterResolver::Resolve, naming the source.
absl::Status ValidateResolved(const ResolvedCluster& resolved);

}  // namespace capstan
