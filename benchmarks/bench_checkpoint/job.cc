#include "bench_checkpoint/job.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status.h"
#include "launch/local/held_ports.h"
#include "launch/system/child_process.h"

namespace capstan::bench {
namespace {

std::string ClusterOf(const std::vector<int>& ports) {
  nlohmann::json cluster;
  for (size_t i = 0; i < ports.size(); ++i) {
    const char* job = i == 0 ? "chief" : i <= kServers ? "ps" : "worker";
    cluster[job].push_back(absl::StrCat("127.0.0.1:", ports[i]));
  }
  return cluster.dump();
}

Environment EnvironmentOf(const std::string& cluster, const TaskId& task,
                          const std::string& checkpoint_root) {
  nlohmann::json config;
  config["cluster"] = nlohmann::json::parse(cluster);
  config["task"] = {{"type", std::string(RoleName(task.role))},
                    {"index", task.index}};
  std::map<std::string, std::string> variables = {
      {"TF_CONFIG", config.dump()},
      {"CAPSTAN_JOB_ID", "bench"},
      {"CAPSTAN_COMPUTE_THREADS", "1"},
      {"CAPSTAN_LOG_LEVEL", "error"}};
  if (!checkpoint_root.empty()) {
    variables["CAPSTAN_CHECKPOINT_DIR"] = checkpoint_root;
  }
  return Environment::Of(variables);
}

}  // namespace

absl::Status RunJob(const std::string& checkpoint_root,
                    const std::function<void(RunningJob&)>& body) {
  absl::StatusOr<HeldPorts> ports = HeldPorts::Take(1 + kServers + kWorkers);
  if (!ports.ok()) return ports.status();
  const std::string cluster = ClusterOf(ports->ports());
  std::vector<ChildProcess> processes;
  const auto start = [&](const std::string& task) -> absl::Status {
    absl::StatusOr<ChildProcess> process =
        ChildProcess::Start({"task", cluster, task, checkpoint_root});
    if (!process.ok()) return process.status();
    processes.push_back(*std::move(process));
    return absl::OkStatus();
  };
  std::vector<pid_t> servers;
  for (int i = 0; i < kServers; ++i) {
    CAPSTAN_RETURN_IF_ERROR(start(absl::StrCat("ps/", i)));
    servers.push_back(processes.back().pid());
  }
  for (int i = 0; i < kWorkers; ++i) {
    CAPSTAN_RETURN_IF_ERROR(start(absl::StrCat("worker/", i)));
  }
  Program program(
      EnvironmentOf(cluster, TaskId::Parse("chief/0"), checkpoint_root));
  const Workload workload(program);
  const int code = program.Run([&](Cluster& tasks) {
    // A short queue, so that it drains soon after scheduling stops.
    ClusterCoordinator coordinator(tasks, {.queue_capacity = 16});
    RunningJob job{coordinator, workload, servers};
    body(job);
  });
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the job ended with ", code));
}

absl::Status RunTask(const std::string& cluster, const std::string& task,
                     const std::string& checkpoint_root) {
  try {
    Definitions program;
    const Workload workload(program);
    DetectOptions detect;
    detect.environment =
        EnvironmentOf(cluster, TaskId::Parse(task), checkpoint_root);
    TaskServer server(DetectCluster(detect), detect.environment, program);
    server.Join();
  } catch (...) {
    return StatusOfCurrentException();
  }
  return absl::OkStatus();
}

}  // namespace capstan::bench
