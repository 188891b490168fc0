#include "bench_train/job.h"

#include <sched.h>

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status.h"
#include "bench_train/plain.h"
#include "launch/local/held_ports.h"
#include "launch/system/child_process.h"

namespace capstan::bench {
namespace {

constexpr int kAnyCore = -1;

void Pin(int core) {
  if (core == kAnyCore) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(core), &set);
  // If there is no such core, the kernel chooses one.
  (void)sched_setaffinity(0, sizeof(set), &set);
}

// Pins this process to a core while this object lives.
class Pinned {
 public:
  explicit Pinned(int core) {
    CPU_ZERO(&before_);
    (void)sched_getaffinity(0, sizeof(before_), &before_);
    Pin(core);
  }
  ~Pinned() { (void)sched_setaffinity(0, sizeof(before_), &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_;
};

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

Environment EnvironmentOf(const std::string& cluster, const TaskId& task) {
  nlohmann::json config;
  config["cluster"] = nlohmann::json::parse(cluster);
  config["task"] = {{"type", std::string(RoleName(task.role))},
                    {"index", task.index}};
  return Environment::Of({{"TF_CONFIG", config.dump()},
                          {"CAPSTAN_JOB_ID", "bench"},
                          {"CAPSTAN_COMPUTE_THREADS", "1"},
                          {"CAPSTAN_LOG_LEVEL", "error"}});
}

}  // namespace

absl::Status RunJob(
    int workers, bool pinned,
    const std::function<void(Cluster&, TrainDefinitions&)>& body) {
  absl::StatusOr<HeldPorts> ports = HeldPorts::Take(workers + 2);
  if (!ports.ok()) return ports.status();
  const std::string cluster = ClusterOf(ports->ports());
  std::vector<ChildProcess> processes;
  const auto start = [&](const std::string& task, int core) {
    absl::StatusOr<ChildProcess> process =
        ChildProcess::Start({"task", cluster, task, absl::StrCat(core)});
    if (process.ok()) processes.push_back(*std::move(process));
    return process.status();
  };
  CAPSTAN_RETURN_IF_ERROR(start("ps/0", pinned && workers == 1 ? 0 : kAnyCore));
  for (int i = 0; i < workers; ++i) {
    const int core = workers == 1 ? 1 : i;
    CAPSTAN_RETURN_IF_ERROR(
        start(absl::StrCat("worker/", i), pinned ? core : kAnyCore));
  }
  const Pinned here(pinned && workers == 1 ? 0 : kAnyCore);
  Program program(EnvironmentOf(cluster, TaskId::Parse("chief/0")));
  TrainDefinitions definitions(program);
  const int code = program.Run([&](Cluster& job) { body(job, definitions); });
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the job ended with ", code));
}

absl::Status RunTask(const std::string& cluster, const std::string& task,
                     int core) {
  Pin(core);
  try {
    Definitions program;
    const TrainDefinitions definitions(program);
    DetectOptions detect;
    detect.environment = EnvironmentOf(cluster, TaskId::Parse(task));
    TaskServer server(DetectCluster(detect), detect.environment, program);
    server.Join();
  } catch (...) {
    return StatusOfCurrentException();
  }
  return absl::OkStatus();
}

absl::StatusOr<double> RunAlone(const std::string& what, int steps) {
  absl::StatusOr<ChildProcess> process =
      ChildProcess::Start({"alone", what, absl::StrCat(steps)});
  if (!process.ok()) return process.status();
  const absl::StatusOr<std::string> line = process->WaitReady();
  if (!line.ok()) return line.status();
  double value = 0;
  if (!absl::SimpleAtod(*line, &value)) {
    return absl::InternalError(absl::StrCat("'", *line, "' is no figure"));
  }
  CAPSTAN_RETURN_IF_ERROR(process->Wait());
  return value;
}

absl::Status SayAlone(const std::string& what, int steps) {
  Pin(1);
  double value = 0;
  try {
    if (what == "mlp") value = TrainMlpPlain(steps);
    if (what == "clicks") value = TrainClicksPlain(steps);
    if (what == "sgemm") value = SgemmGflops();
    if (what == "accuracy") value = MlpAccuracyPlain(kAccuracyEpochs, steps);
  } catch (...) {
    return StatusOfCurrentException();
  }
  return ReportReady(absl::StrCat(value));
}

}  // namespace capstan::bench
