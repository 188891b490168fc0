#include "cluster/cluster_spec.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/status.h"
#include "cluster/address.h"
#include "cluster/task_id.h"
#include "cluster/text.h"

namespace capstan {
namespace {

absl::Status CheckTask(TaskId task, std::string_view address) {
  if (task.index < 0 || task.index > TaskId::kMaxIndex) {
    return Invalid("{}: an index is from 0 to {}", task.ToString(),
                   TaskId::kMaxIndex);
  }
  return WithContext(ValidateAddress(address), task.ToString());
}

absl::Status CheckJobs(const ClusterSpec::Jobs& jobs) {
  for (const auto& [role, tasks] : jobs) {
    for (const auto& [index, address] : tasks) {
      CAPSTAN_RETURN_IF_ERROR(CheckTask({role, index}, address));
    }
  }
  return absl::OkStatus();
}

// "a:1, b:1".
std::string Addresses(const ClusterSpec& spec, Role role) {
  std::vector<std::string_view> addresses;
  for (const auto& [index, address] : spec.as_dict().at(role)) {
    addresses.push_back(address);
  }
  return Joined(addresses);
}

// A role that may have at most one task, with index 0.
absl::Status CheckOnly(const ClusterSpec& spec, Role role,
                       std::string_view advice) {
  if (spec.num_tasks(role) == 0) return absl::OkStatus();
  if (spec.num_tasks(role) > 1) {
    return Invalid(
        "{} ({}): there must be only one; {}",
        Counted(static_cast<size_t>(spec.num_tasks(role)), RoleName(role)),
        Addresses(spec, role), advice);
  }
  const int index = spec.task_indices(role).front();
  if (index == 0) return absl::OkStatus();
  return Invalid("the index of the only {} must be 0, not {}", RoleName(role),
                 index);
}

absl::Status CheckAddressesDiffer(const ClusterSpec& spec) {
  std::map<std::string, TaskId> owners;
  for (const TaskId task : spec.tasks()) {
    const std::string& address = spec.task_address(task);
    const auto [owner, is_new] =
        owners.emplace(CanonicalAddress(address), task);
    if (!is_new) {
      return Invalid(
          "{} and {} have the same address {}: give each task its own port",
          owner->second.ToString(), task.ToString(), address);
    }
  }
  return absl::OkStatus();
}

// "0 to 2"; for a sparse job "1, 4, 5".
std::string Indices(const ClusterSpec& spec, Role role) {
  const std::vector<int> indices = spec.task_indices(role);
  if (indices.size() == 1) return fmt::format("{}", indices.front());
  if (spec.is_dense(role)) return fmt::format("0 to {}", indices.back());
  constexpr size_t kMaxShown = 20;
  std::string text;
  for (size_t i = 0; i < indices.size() && i < kMaxShown; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", indices[i]);
  }
  return indices.size() > kMaxShown ? text + ", ..." : text;
}

std::string NoSuchTask(const ClusterSpec& spec, TaskId task) {
  const auto count = static_cast<size_t>(spec.num_tasks(task.role));
  if (count == 0) {
    return fmt::format("{} is not in the cluster, which has no {}",
                       task.ToString(), RoleName(task.role));
  }
  return fmt::format("{} is not in the cluster, which has {} (index {})",
                     task.ToString(), Counted(count, RoleName(task.role)),
                     Indices(spec, task.role));
}

}  // namespace

absl::StatusOr<ClusterSpec> MakeClusterSpec(ClusterSpec::Jobs jobs) {
  CAPSTAN_RETURN_IF_ERROR(CheckJobs(jobs));
  return ClusterSpec::FromDict(std::move(jobs));
}

absl::Status ValidateCluster(const ClusterSpec& spec) {
  if (spec.empty()) {
    return Invalid(
        "the cluster is empty: list the addresses of a chief, of at least one "
        "worker and of at least one ps");
  }
  if (spec.num_tasks(Role::kChief) == 0) {
    return Invalid(
        "no chief: there must be exactly one; add the address of "
        "the coordinator under \"chief\"");
  }
  CAPSTAN_RETURN_IF_ERROR(
      CheckOnly(spec, Role::kChief, "list the others as workers"));
  if (spec.num_tasks(Role::kWorker) == 0) {
    return Invalid(
        "no worker: there must be at least one worker; add its "
        "address under \"worker\"");
  }
  if (spec.num_tasks(Role::kPs) == 0) {
    return Invalid(
        "no ps: there must be at least one ps; add the address of a "
        "parameter server under \"ps\"");
  }
  CAPSTAN_RETURN_IF_ERROR(
      CheckOnly(spec, Role::kEvaluator, "remove the others"));
  return CheckAddressesDiffer(spec);
}

absl::Status ValidateTask(const ClusterSpec& spec, TaskId task) {
  if (spec.contains(task)) return absl::OkStatus();
  if (task == TaskId{Role::kEvaluator, 0} &&
      spec.num_tasks(Role::kEvaluator) == 0) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(
      fmt::format("{}: correct the type and index of this task, or add its "
                  "address to the cluster",
                  NoSuchTask(spec, task)));
}

ClusterSpec::ClusterSpec(
    const std::map<Role, std::vector<std::string>>& addresses) {
  Jobs jobs;
  for (const auto& [role, list] : addresses) {
    Tasks& tasks = jobs[role];
    for (const std::string& address : list) {
      tasks.emplace(static_cast<int>(tasks.size()), address);
    }
  }
  *this = FromDict(std::move(jobs));
}

ClusterSpec ClusterSpec::FromDict(Jobs jobs) {
  ThrowIfError(CheckJobs(jobs));
  std::erase_if(jobs, [](const auto& job) { return job.second.empty(); });
  ClusterSpec spec;
  spec.jobs_ = std::move(jobs);
  return spec;
}

int ClusterSpec::num_tasks(Role role) const noexcept {
  const auto job = jobs_.find(role);
  return job == jobs_.end() ? 0 : static_cast<int>(job->second.size());
}

int ClusterSpec::num_tasks() const noexcept {
  int count = 0;
  for (const auto& [role, tasks] : jobs_) {
    count += static_cast<int>(tasks.size());
  }
  return count;
}

std::vector<int> ClusterSpec::task_indices(Role role) const {
  std::vector<int> indices;
  const auto job = jobs_.find(role);
  if (job == jobs_.end()) return indices;
  for (const auto& [index, address] : job->second) indices.push_back(index);
  return indices;
}

std::vector<TaskId> ClusterSpec::tasks() const {
  std::vector<TaskId> all;
  for (const auto& [role, tasks] : jobs_) {
    for (const auto& [index, address] : tasks) all.push_back({role, index});
  }
  return all;
}

bool ClusterSpec::is_dense(Role role) const noexcept {
  const auto job = jobs_.find(role);
  // Indices are distinct and not negative, so the largest one decides.
  return job == jobs_.end() || job->second.rbegin()->first + 1 ==
                                   static_cast<int>(job->second.size());
}

bool ClusterSpec::contains(TaskId task) const noexcept {
  const auto job = jobs_.find(task.role);
  return job != jobs_.end() && job->second.contains(task.index);
}

const std::string& ClusterSpec::task_address(TaskId task) const {
  if (!contains(task)) {
    throw Error(ErrorCode::kNotFound, NoSuchTask(*this, task));
  }
  return jobs_.at(task.role).at(task.index);
}

void ClusterSpec::Validate() const { ThrowIfError(ValidateCluster(*this)); }

std::string ClusterSpec::ToString() const {
  std::vector<std::string> counts;
  for (const auto& [role, tasks] : jobs_) {
    counts.push_back(Counted(tasks.size(), RoleName(role)));
  }
  if (counts.empty()) return "no tasks";
  return Joined(std::vector<std::string_view>(counts.begin(), counts.end()));
}

std::string ClusterSpec::ToTable() const {
  size_t width = 0;
  for (const TaskId task : tasks()) {
    width = std::max(width, task.ToString().size());
  }
  std::string table;
  for (const TaskId task : tasks()) {
    table +=
        fmt::format("{:<{}}  {}\n", task.ToString(), width, task_address(task));
  }
  return table;
}

}  // namespace capstan
