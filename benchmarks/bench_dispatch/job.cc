#include "bench_dispatch/job.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status.h"

namespace capstan {
namespace {

std::string ClusterOf(const std::vector<int>& ports) {
  const auto address = [&](size_t i) {
    return absl::StrCat("127.0.0.1:", ports[i]);
  };
  nlohmann::json cluster;
  cluster["chief"] = {address(0)};
  cluster["ps"] = {address(1)};
  for (size_t i = 2; i < ports.size(); ++i) {
    cluster["worker"].push_back(address(i));
  }
  return cluster.dump();
}

Environment EnvironmentOf(const std::string& cluster, const std::string& type,
                          int index) {
  nlohmann::json config;
  config["cluster"] = nlohmann::json::parse(cluster);
  config["task"] = {{"type", type}, {"index", index}};
  return Environment::Of({{"TF_CONFIG", config.dump()},
                          {"CAPSTAN_JOB_ID", "bench"},
                          {"CAPSTAN_LOG_LEVEL", "error"}});
}

}  // namespace

BenchJob::BenchJob(HeldPorts ports, std::string cluster, int workers,
                   bool threads)
    : ports_(std::move(ports)),
      cluster_(std::move(cluster)),
      workers_(workers),
      threads_(threads) {}

absl::StatusOr<std::unique_ptr<BenchJob>> BenchJob::Start(int workers,
                                                          bool threads) {
  absl::StatusOr<HeldPorts> ports = HeldPorts::Take(workers + 2);
  if (!ports.ok()) return ports.status();
  std::string cluster = ClusterOf(ports->ports());
  std::unique_ptr<BenchJob> job(
      new BenchJob(*std::move(ports), std::move(cluster), workers, threads));
  job->processes_.resize(static_cast<size_t>(threads ? 1 : workers) + 1);
  for (int i = 0; i < (threads ? 1 : workers); ++i) {
    CAPSTAN_RETURN_IF_ERROR(job->Restart(i));
  }
  absl::StatusOr<ChildProcess> server =
      ChildProcess::Start({"tasks", job->cluster_, "ps/0"});
  if (!server.ok()) return server.status();
  job->processes_.back() = std::make_unique<ChildProcess>(*std::move(server));
  return job;
}

absl::Status BenchJob::Restart(int worker) {
  std::string roles = absl::StrCat("worker/", worker);
  for (int i = 1; threads_ && i < workers_; ++i) {
    absl::StrAppend(&roles, ",worker/", i);
  }
  absl::StatusOr<ChildProcess> process =
      ChildProcess::Start({"tasks", cluster_, roles});
  if (!process.ok()) return process.status();
  processes_[static_cast<size_t>(worker)] =
      std::make_unique<ChildProcess>(*std::move(process));
  return absl::OkStatus();
}

absl::Status BenchJob::Kill(int worker) {
  std::unique_ptr<ChildProcess>& process =
      processes_[static_cast<size_t>(worker)];
  if (::kill(process->pid(), SIGKILL) != 0) {
    return absl::InternalError("kill");
  }
  process = nullptr;
  return absl::OkStatus();
}

absl::Status BenchJob::Run(const CoordinatorOptions& options,
                           const Body& body) {
  Program program(EnvironmentOf(cluster_, "chief", 0));
  BenchFunctions functions(program);
  const int code = program.Run([&](Cluster& cluster) {
    ClusterCoordinator coordinator(cluster, options);
    body(coordinator, functions);
  });
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the job ended with ", code));
}

absl::Status RunTasks(const std::string& cluster, const std::string& roles) {
  Definitions definitions;
  const BenchFunctions functions(definitions);
  std::vector<std::unique_ptr<TaskServer>> tasks;
  std::vector<std::thread> threads;
  try {
    const std::vector<std::string> names = absl::StrSplit(roles, ',');
    for (const std::string& role : names) {
      const TaskId id = TaskId::Parse(role);
      DetectOptions detect;
      detect.environment =
          EnvironmentOf(cluster, std::string(RoleName(id.role)), id.index);
      tasks.push_back(std::make_unique<TaskServer>(
          DetectCluster(detect), detect.environment, definitions));
    }
    for (const std::unique_ptr<TaskServer>& task : tasks) {
      threads.emplace_back([&task] {
        try {
          task->Join();
        } catch (const Error&) {
          // The coordinator is gone, so the benchmark is over.
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  } catch (...) {
    return StatusOfCurrentException();
  }
  return absl::OkStatus();
}

}  // namespace capstan
