#include "launch/local/local_job.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cluster/cluster_spec.h"
#include "launch/local/task_environment.h"

namespace capstan {
namespace {

// How many functions a worker runs at once. The worker itself refuses a value
// that is not a number.
int Concurrency(const LocalJobOptions& options) {
  if (options.concurrency > 0) return options.concurrency;
  constexpr std::string_view kName = "CAPSTAN_CONCURRENCY=";
  int inherited = 1;
  for (const std::string& entry : options.environment) {
    if (!entry.starts_with(kName)) continue;
    int value = 0;
    const char* begin = entry.data() + kName.size();
    std::from_chars(begin, entry.data() + entry.size(), value);
    inherited = std::max(1, value);
  }
  return inherited;
}

// How many cores of this machine a function of `task` gets: workers compute,
// and workers that share a machine would only get in one another's way with
// more.
int ComputeThreads(TaskId task, const LocalJobOptions& options) {
  if (task.role != Role::kWorker || options.cores <= 0) return 0;
  return std::max(1, options.cores / options.workers / Concurrency(options));
}

std::vector<std::string> EnvironmentOf(TaskId task, const ClusterSpec& spec,
                                       const LocalJobOptions& options) {
  TaskEnvironmentOptions environment;
  environment.inherited = options.environment;
  environment.job_id = options.job_id;
  environment.tls = options.tls;
  environment.checkpoint_directory = options.checkpoint_directory;
  environment.compute_threads = ComputeThreads(task, options);
  if (task.role == Role::kChief) environment.over_file = options.over_file;
  if (task.role == Role::kWorker) environment.concurrency = options.concurrency;
  if (task.role != Role::kPs) environment.blas_core = options.blas_core;
  if (task.role == Role::kPs) environment.memory_bytes = options.server_memory;
  return TaskEnvironment(task, spec, environment);
}

}  // namespace

std::vector<TaskId> TasksOf(const LocalJobOptions& options) {
  std::vector<TaskId> tasks;
  for (int i = 0; i < options.servers; ++i) tasks.push_back({Role::kPs, i});
  for (int i = 0; i < options.workers; ++i) tasks.push_back({Role::kWorker, i});
  if (options.evaluator) tasks.push_back({Role::kEvaluator, 0});
  tasks.push_back({Role::kChief, 0});
  return tasks;
}

absl::StatusOr<LocalJob> PlanLocalJob(
    const LocalJobOptions& options, const std::vector<std::string>& addresses) {
  const std::vector<TaskId> ids = TasksOf(options);
  if (addresses.size() != ids.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        ids.size(), " tasks, but ", addresses.size(), " addresses"));
  }
  ClusterSpec::Jobs jobs;
  for (size_t i = 0; i < ids.size(); ++i) {
    jobs[ids[i].role][ids[i].index] = addresses[i];
  }
  absl::StatusOr<ClusterSpec> spec = MakeClusterSpec(std::move(jobs));
  CAPSTAN_RETURN_IF_ERROR(spec.status());
  CAPSTAN_RETURN_IF_ERROR(ValidateCluster(*spec));

  LocalJob job;
  for (size_t i = 0; i < ids.size(); ++i) {
    LocalTask task;
    task.id = ids[i];
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
