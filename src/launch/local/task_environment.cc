#include "launch/local/task_environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "launch/blas/blas_core.h"
#include "launch/local/task_options.h"

namespace capstan {
namespace {

// Variables that describe another job's cluster and would contradict ours: see
// DetectCluster.
constexpr std::array<std::string_view, 6> kReplaced = {
    "TF_CONFIG",       "CAPSTAN_TASK",         "CAPSTAN_JOB_ID",
    "CAPSTAN_CLUSTER", "CAPSTAN_CLUSTER_FROM", "CAPSTAN_OVER_FILE"};

constexpr std::array<std::string_view, 3> kThreads = {
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CAPSTAN_COMPUTE_THREADS"};

std::string_view VariableNameOf(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

bool IsReplaced(std::string_view name, const TaskEnvironmentOptions& options) {
  if (name == "CAPSTAN_TLS") return !options.tls.empty();
  if (name == "CAPSTAN_TOKEN") return !options.token.empty();
  if (name == "CAPSTAN_CHECKPOINT_DIR") {
    return !options.checkpoint_directory.empty();
  }
  if (name == "CAPSTAN_CONCURRENCY") return options.concurrency > 0;
  return std::find(kReplaced.begin(), kReplaced.end(), name) != kReplaced.end();
}

bool Has(const std::vector<std::string>& environment, std::string_view name) {
  return std::any_of(environment.begin(), environment.end(),
                     [name](const std::string& entry) {
                       return VariableNameOf(entry) == name;
                     });
}

}  // namespace

std::vector<std::string> TaskEnvironment(
    TaskId task, const ClusterSpec& spec,
    const TaskEnvironmentOptions& options) {
  std::vector<std::string> environment;
  for (const std::string& entry : options.inherited) {
    if (!IsReplaced(VariableNameOf(entry), options))
      environment.push_back(entry);
  }
  environment.push_back(fmt::format(
      R"(TF_CONFIG={{"cluster":{},"task":{{"type":"{}","index":{}}}}})",
      spec.ToJson(), RoleName(task.role), task.index));
  environment.push_back("CAPSTAN_TASK=" + task.ToString());
  environment.push_back("CAPSTAN_JOB_ID=" + options.job_id);
  // A Slurm step or a Kubernetes pod provides another description.
  environment.push_back("CAPSTAN_CLUSTER_FROM=tf_config");
  if (!options.tls.empty()) environment.push_back("CAPSTAN_TLS=" + options.tls);
  if (!options.token.empty()) {
    environment.push_back("CAPSTAN_TOKEN=" + options.token);
  }
  if (!options.checkpoint_directory.empty()) {
    environment.push_back("CAPSTAN_CHECKPOINT_DIR=" +
                          options.checkpoint_directory);
  }
  if (!options.over_file.empty()) {
    environment.push_back("CAPSTAN_OVER_FILE=" + options.over_file);
  }
  if (options.concurrency > 0) {
    environment.push_back(
        fmt::format("CAPSTAN_CONCURRENCY={}", options.concurrency));
  }
  if (options.compute_threads > 0) {
    for (const std::string_view name : kThreads) {
      if (Has(options.inherited, name)) continue;
      environment.push_back(
          fmt::format("{}={}", name, options.compute_threads));
    }
  }
  if (options.memory_bytes > 0 && !Has(options.inherited, "CAPSTAN_MEMORY")) {
    environment.push_back(
        fmt::format("CAPSTAN_MEMORY={}",
                    std::max<uint64_t>(1, options.memory_bytes / kMegabyte)));
  }
  if (!options.blas_core.empty() &&
      !Has(options.inherited, kBlasCoreVariable)) {
    environment.push_back(
        fmt::format("{}={}", kBlasCoreVariable, options.blas_core));
  }
  return environment;
}

}  // namespace capstan
