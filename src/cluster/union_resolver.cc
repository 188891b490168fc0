#include "cluster/union_resolver.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/status.h"
#include "capstan/resolver.h"
#include "cluster/cluster_spec.h"
#include "cluster/task_id.h"
#include "cluster/text.h"

namespace capstan {
namespace {

absl::Status MergeJob(std::span<const ClusterSpec> specs, Role role,
                      ClusterSpec::Tasks& merged) {
  const bool dense = std::all_of(
      specs.begin(), specs.end(),
      [role](const ClusterSpec& spec) { return spec.is_dense(role); });
  for (const ClusterSpec& spec : specs) {
    const auto job = spec.as_dict().find(role);
    if (job == spec.as_dict().end()) continue;
    for (const auto& [given, address] : job->second) {
      const int index = dense ? static_cast<int>(merged.size()) : given;
      const auto [present, is_new] = merged.emplace(index, address);
      if (!is_new) {
        return Invalid(
            "{} is in two parts of the cluster, at {} and at {}: "
            "remove it from one",
            TaskId{role, index}.ToString(), present->second, address);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ClusterSpec> MergeSpecs(std::span<const ClusterSpec> specs) {
  ClusterSpec::Jobs jobs;
  for (const Role role : kRoles) {
    CAPSTAN_RETURN_IF_ERROR(MergeJob(specs, role, jobs[role]));
  }
  return MakeClusterSpec(std::move(jobs));
}

UnionClusterResolver::UnionClusterResolver(
    std::vector<std::shared_ptr<const ClusterResolver>> resolvers)
    : resolvers_(std::move(resolvers)) {
  if (resolvers_.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "a union of no resolvers: give it at least one");
  }
  if (std::find(resolvers_.begin(), resolvers_.end(), nullptr) !=
      resolvers_.end()) {
    throw Error(ErrorCode::kInvalidArgument, "a resolver of a union is null");
  }
}

ResolvedCluster UnionClusterResolver::Read() const {
  ResolvedCluster first = resolvers_.front()->Read();
  std::vector<ClusterSpec> specs = {first.spec};
  for (size_t i = 1; i < resolvers_.size(); ++i) {
    ResolvedCluster next = resolvers_[i]->Read();
    specs.push_back(std::move(next.spec));
    first.source += " and " + next.source;
    first.warnings.insert(first.warnings.end(), next.warnings.begin(),
                          next.warnings.end());
  }
  first.spec = ValueOrThrow(MergeSpecs(specs));
  return first;
}

}  // namespace capstan
