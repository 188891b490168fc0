// What the resolvers share: determining this task, the overrides, numeric
// variables, and the final checks. No exceptions.
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/resolver.h"

namespace capstan {

// The value of the variable; FailedPrecondition if it is not set.
absl::StatusOr<std::string> RequireVariable(const Environment& environment,
                                            std::string_view name,
                                            std::string_view advice);

// A variable that holds a whole number in [least, most]; nullopt if it is not
// set. InvalidArgument, naming variable and value, for anything else.
absl::StatusOr<std::optional<int>> NumberVariable(
    const Environment& environment, std::string_view name, int least, int most);

// `given` if present, otherwise the variable, otherwise `otherwise`.
// InvalidArgument if the first of these that is present is not in [least,
// most].
absl::StatusOr<int> GivenOrVariable(std::optional<int> given,
                                    const Environment& environment,
                                    std::string_view name, int otherwise,
                                    int least, int most);

// The task from a type and an index, each of which may be missing: nullopt if
// both are. The index of a chief or an evaluator defaults to 0. InvalidArgument
// if one is given and the other cannot be inferred.
absl::StatusOr<std::optional<TaskId>> CombineTask(std::optional<Role> type,
                                                  std::optional<int> index);

// Sets the task from CAPSTAN_TASK, unless `overrides` determine it.
// FailedPrecondition, naming both, if the source gives another task.
absl::Status ApplyTaskVariable(const Environment& environment,
                               const ClusterOverrides& overrides,
                               ResolvedCluster& resolved);

// Sets the job id from CAPSTAN_JOB_ID if that is set.
void ApplyJobIdVariable(const Environment& environment,
                        ResolvedCluster& resolved);

// InvalidArgument if the result is not a valid task, or the rpc layer is
// unknown.
absl::Status ApplyOverrides(const ClusterOverrides& overrides,
                            ResolvedCluster& resolved);

// Whether `layer` is "capstan" or an accepted synonym for it.
bool IsKnownRpcLayer(std::string_view layer);

// OK for a job id that can be sent to other tasks: up to 128 printable ASCII
// characters without blanks, or empty. Otherwise InvalidArgument.
absl::Status ValidateJobId(std::string_view job_id);

// Does the checks of ClusterResolver::Resolve; errors name the source.
absl::Status ValidateResolved(const ResolvedCluster& resolved);

}  // namespace capstan
