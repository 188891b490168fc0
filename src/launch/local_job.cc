#include "launch/local_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cluster/cluster_spec.h"

namespace capstan {
namespace {

// Variables that say who is in a job, and would contradict ours: see
// DetectCluster.
constexpr std::array<std::string_view, 5> kReplaced = {
    "TF_CONFIG", "CAPSTAN_TASK", "CAPSTAN_JOB_ID", "CAPSTAN_CLUSTER",
    "CAPSTAN_CLUSTER_FROM"};

bool IsReplaced(std::string_view entry, const LocalJobOptions& options) {
  const std::string_view name = entry.substr(0, entry.find('='));
  if (name == "CAPSTAN_TLS") return !options.tls.empty();
  return std::find(kReplaced.begin(), kReplaced.end(), name) != kReplaced.end();
}

std::vector<std::string> EnvironmentOf(TaskId task, const ClusterSpec& spec,
                                       const LocalJobOptions& options) {
  std::vector<std::string> environment;
  for (const std::string& entry : options.environment) {
    if (!IsReplaced(entry, options)) environment.push_back(entry);
  }
  environment.push_back(fmt::format(
      R"(TF_CONFIG={{"cluster":{},"task":{{"type":"{}","index":{}}}}})",
      spec.ToJson(), RoleName(task.role), task.index));
  environment.push_back("CAPSTAN_TASK=" + task.ToString());
  environment.push_back("CAPSTAN_JOB_ID=" + options.job_id);
  // In a step of Slurm or a pod of Kubernetes there is another description.
  environment.push_back("CAPSTAN_CLUSTER_FROM=tf_config");
  if (!options.tls.empty()) environment.push_back("CAPSTAN_TLS=" + options.tls);
  return environment;
}

std::vector<TaskId> TasksInOrder(const LocalJobOptions& options) {
  std::vector<TaskId> tasks;
  for (int i = 0; i < options.servers; ++i) tasks.push_back({Role::kPs, i});
  for (int i = 0; i < options.workers; ++i) tasks.push_back({Role::kWorker, i});
  if (options.evaluator) tasks.push_back({Role::kEvaluator, 0});
  tasks.push_back({Role::kChief, 0});
  return tasks;
}

}  // namespace

int CountTasks(const LocalJobOptions& options) {
  return options.servers + options.workers + (options.evaluator ? 2 : 1);
}

absl::StatusOr<LocalJob> PlanLocalJob(const LocalJobOptions& options,
                                      const std::vector<int>& ports) {
  const std::vector<TaskId> ids = TasksInOrder(options);
  if (ports.size() != ids.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ids.size(), " tasks, but ", ports.size(), " ports"));
  }
  ClusterSpec::Jobs jobs;
  for (size_t i = 0; i < ids.size(); ++i) {
    jobs[ids[i].role][ids[i].index] = absl::StrCat("127.0.0.1:", ports[i]);
  }
  absl::StatusOr<ClusterSpec> spec = MakeClusterSpec(std::move(jobs));
  CAPSTAN_RETURN_IF_ERROR(spec.status());
  CAPSTAN_RETURN_IF_ERROR(ValidateCluster(*spec));

  LocalJob job;
  for (size_t i = 0; i < ids.size(); ++i) {
    LocalTask task;
    task.id = ids[i];
    task.port = ports[i];
    const bool is_server = ids[i].role == Role::kPs;
    task.program = is_server ? options.server_program : options.program;
    task.arguments = is_server ? options.server_arguments : options.arguments;
    task.environment = EnvironmentOf(ids[i], *spec, options);
    job.tasks.push_back(std::move(task));
  }
  job.spec = *std::move(spec);
  return job;
}

}  // namespace capstan
