#include "cluster/resolve.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/status.h"
#include "cluster/cluster_spec.h"
#include "cluster/task_id.h"
#include "cluster/text.h"

namespace capstan {
namespace {

absl::Status NotInRange(std::string_view name, std::string_view value,
                        int least, int most) {
  return Invalid("{}={}: write a whole number from {} to {}", name, value,
                 least, most);
}

}  // namespace

absl::StatusOr<std::string> RequireVariable(const Environment& environment,
                                            std::string_view name,
                                            std::string_view advice) {
  std::optional<std::string> value = environment.Get(name);
  if (value.has_value()) return *std::move(value);
  return absl::FailedPreconditionError(
      fmt::format("{} is not set: {}", name, advice));
}

absl::StatusOr<std::optional<int>> NumberVariable(
    const Environment& environment, std::string_view name, int least,
    int most) {
  const std::optional<std::string> text = environment.Get(name);
  if (!text.has_value()) return std::optional<int>();
  const std::optional<int> number = ParseWhole(*text, least, most);
  if (!number.has_value()) {
    return NotInRange(name, Quoted(*text), least, most);
  }
  return number;
}

absl::StatusOr<int> GivenOrVariable(std::optional<int> given,
                                    const Environment& environment,
                                    std::string_view name, int otherwise,
                                    int least, int most) {
  if (given.has_value()) {
    if (*given >= least && *given <= most) return *given;
    return NotInRange(name, fmt::format("{}", *given), least, most);
  }
  const absl::StatusOr<std::optional<int>> number =
      NumberVariable(environment, name, least, most);
  CAPSTAN_RETURN_IF_ERROR(number.status());
  return number->value_or(otherwise);
}

absl::StatusOr<std::optional<TaskId>> CombineTask(std::optional<Role> type,
                                                  std::optional<int> index) {
  if (!type.has_value() && !index.has_value()) return std::optional<TaskId>();
  if (!type.has_value()) {
    return Invalid(
        "the task has the index {} but no type; its type is one of "
        "{}",
        *index, Joined(kRoleNames));
  }
  const bool is_only = type == Role::kChief || type == Role::kEvaluator;
  if (!index.has_value() && !is_only) {
    return Invalid("the task has the type {} but no index; give it, from 0",
                   RoleName(*type));
  }
  return std::optional<TaskId>({*type, index.value_or(0)});
}

absl::Status ApplyTaskVariable(const Environment& environment,
                               const ClusterOverrides& overrides,
                               ResolvedCluster& resolved) {
  const std::optional<std::string> text = environment.Get("CAPSTAN_TASK");
  const bool has_type = overrides.task_type.has_value();
  const bool has_index = overrides.task_index.has_value();
  const bool is_overridden =
      resolved.task.has_value() ? has_type || has_index : has_type && has_index;
  if (!text.has_value() || is_overridden) return absl::OkStatus();
  const absl::StatusOr<TaskId> task = ParseTaskId(*text);
  if (!task.ok()) return WithContext(task.status(), "CAPSTAN_TASK");
  if (resolved.task.has_value() && *resolved.task != *task) {
    return absl::FailedPreconditionError(fmt::format(
        "{} says that this is {}, but CAPSTAN_TASK says {}: unset one",
        resolved.source, resolved.task->ToString(), task->ToString()));
  }
  resolved.task = *task;
  return absl::OkStatus();
}

void ApplyJobIdVariable(const Environment& environment,
                        ResolvedCluster& resolved) {
  std::optional<std::string> job_id = environment.Get("CAPSTAN_JOB_ID");
  if (job_id.has_value()) resolved.job_id = *std::move(job_id);
}

absl::Status ApplyOverrides(const ClusterOverrides& overrides,
                            ResolvedCluster& resolved) {
  if (overrides.cluster.has_value()) resolved.spec = *overrides.cluster;
  std::optional<Role> type = overrides.task_type;
  std::optional<int> index = overrides.task_index;
  if (resolved.task.has_value()) {
    if (!type.has_value()) type = resolved.task->role;
    if (!index.has_value()) index = resolved.task->index;
  }
  const absl::StatusOr<std::optional<TaskId>> task = CombineTask(type, index);
  CAPSTAN_RETURN_IF_ERROR(task.status());
  resolved.task = *task;
  if (overrides.rpc_layer.has_value() &&
      !IsKnownRpcLayer(*overrides.rpc_layer)) {
    return Invalid("unknown rpc_layer {}: leave it out, or write capstan",
                   Quoted(*overrides.rpc_layer));
  }
  return absl::OkStatus();
}

bool IsKnownRpcLayer(std::string_view layer) {
  return layer == "capstan" || layer == "grpc";
}

absl::Status ValidateJobId(std::string_view job_id) {
  constexpr size_t kMaxSize = 128;
  const bool printable = std::all_of(job_id.begin(), job_id.end(), [](char c) {
    return c > 0x20 && c < 0x7f;
  });
  if (printable && job_id.size() <= kMaxSize) return absl::OkStatus();
  return Invalid(
      "job id {}: use up to {} letters, digits and signs, and no "
      "blanks",
      Quoted(job_id), kMaxSize);
}

absl::Status ValidateResolved(const ResolvedCluster& resolved) {
  absl::Status status = ValidateCluster(resolved.spec);
  if (status.ok()) status = ValidateJobId(resolved.job_id);
  if (status.ok() && resolved.task.has_value()) {
    status = ValidateTask(resolved.spec, *resolved.task);
  }
  return WithContext(status, resolved.source);
}

ClusterResolver::~ClusterResolver() = default;

ResolvedCluster ClusterResolver::Resolve() const {
  ResolvedCluster resolved = Read();
  ThrowIfError(ValidateResolved(resolved));
  return resolved;
}

std::string ResolvedCluster::ToString() const {
  if (spec.empty()) return fmt::format("cluster: {}", source);
  return fmt::format("cluster: from {}, {}; this is {}", source,
                     spec.ToString(),
                     task.has_value() ? task->ToString() : "none of them");
}

}  // namespace capstan
