#include "capstan/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/status.h"
#include "launch/blas/prepare_blas.h"
#include "launch/blas/restart_for_blas.h"
#include "launch/coordinator_task.h"
#include "launch/local/task_options.h"
#include "launch/make_cluster.h"
#include "launch/member_task.h"
#include "launch/run_evaluator.h"
#include "launch/run_member.h"

namespace capstan {
namespace {

// How long a body may take to end after another coordinator has taken over.
constexpr std::chrono::milliseconds kDeposedGrace(1500);

// For the cluster in one process.
constexpr int kLocalWorkers = 2;

// One task's share of the cores if `count` tasks compute at once.
int ShareOfCores(int count) {
  return std::max(
      1, static_cast<int>(std::thread::hardware_concurrency()) / count);
}

int Fail(std::string_view who, std::string_view what) {
  fmt::print(stderr, "{}: {}\n", who, what);
  return 1;
}

// The body may be anywhere, in the user's code, so only the process can end it.
void ExitSoon(const absl::Status&) {
  std::thread([] {
    std::this_thread::sleep_for(kDeposedGrace);
    std::_Exit(1);
  }).detach();
}

int RunCoordinator(const TaskOptions& options,
                   std::shared_ptr<const DefinitionList> definitions,
                   const std::function<void(Cluster&)>& body) {
  const std::unique_ptr<CoordinatorTask> task = ValueOrThrow(
      CoordinatorTask::Start(options, std::move(definitions), ExitSoon));
  ThrowIfError(task->AwaitAll());
  const std::unique_ptr<Cluster> cluster = ClusterMaker::Make(*task);
  absl::Status failure;
  try {
    body(*cluster);
  } catch (...) {
    failure = StatusOfCurrentException();
  }
  // The job has ended, successfully or not.
  const absl::Status told = task->End();
  ThrowIfError(task->deposed());
  if (!told.ok()) task->host().logger().Warning("{}", Describe(told));
  ThrowIfError(failure);
  return 0;
}

}  // namespace

Program::Program(int argc, char** argv) : Program(Environment::FromProcess()) {
  RestartForBlas(argc, argv);
}
Program::Program(Environment environment)
    : environment_(std::move(environment)) {}
Program::~Program() = default;

int Program::Run(const std::function<void(Cluster&)>& body) {
  std::string who = "capstan";
  try {
    DetectOptions detect;
    detect.environment = environment_;
    const ResolvedCluster cluster = DetectCluster(detect);
    for (const std::string& warning : cluster.warnings) {
      fmt::print(stderr, "{}\n", warning);
    }
    fmt::print(stderr, "{}\n", cluster.ToString());
    if (cluster.spec.empty()) {
      PrepareBlas(who, ShareOfCores(kLocalWorkers), environment_);
      LocalCluster local(*this, kLocalWorkers);
      body(local.cluster());
      return 0;
    }
    if (cluster.task) who = cluster.task->ToString();
    const TaskOptions options =
        ValueOrThrow(ReadTaskOptions(environment_, cluster));
    if (cluster.task && cluster.task->role == Role::kChief) {
      return RunCoordinator(options, DefinitionsReader::Freeze(*this), body);
    }
    if (cluster.task && cluster.task->role == Role::kEvaluator) {
      PrepareBlas(who, 1, environment_);
      return RunEvaluatorTask(options, *this);
    }
    if (cluster.task && cluster.task->role == Role::kWorker) {
      PrepareBlas(who,
                  options.compute_threads > 0
                      ? options.compute_threads
                      : ShareOfCores(options.concurrency),
                  environment_);
    }
    const std::unique_ptr<MemberTask> task = ValueOrThrow(
        MemberTask::Start(options, DefinitionsReader::Freeze(*this)));
    return RunMember(*task);
  } catch (const std::exception& error) {
    return Fail(who, error.what());
  } catch (...) {
    return Fail(who, "the program's body threw something that is no exception");
  }
}

}  // namespace capstan
