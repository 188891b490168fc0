// Makes and checks cluster specs that come from outside, without exceptions.
// The class is public, in capstan/cluster_spec.h.
// Pure functions; thread-safe.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"

namespace capstan {

// The spec of `jobs`, or InvalidArgument as ClusterSpec::FromDict.
absl::StatusOr<ClusterSpec> MakeClusterSpec(ClusterSpec::Jobs jobs);

// As ClusterSpec::Validate.
absl::Status ValidateCluster(const ClusterSpec& spec);

// Whether a process may be `task` of a cluster. OutOfRange, listing the indices
// that exist, if the cluster has tasks of that role but not this one, or has no
// tasks of that role at all. A cluster without evaluators accepts evaluator/0:
// other tasks need not know its address.
absl::Status ValidateTask(const ClusterSpec& spec, TaskId task);

}  // namespace capstan
