#include "launch/member_task.h"

#include <unistd.h>

#include <asio/post.hpp>
#include <utility>

#include "base/async/run_on.h"
#include "base/async/yield_cores.h"
#include "base/status.h"
#include "launch/open_checkpoint_root.h"
#include "launch/system/machine_facts.h"
#include "launch/system/resident_memory.h"
#include "launch/system/server_memory.h"

namespace capstan {
namespace {

// How long the last answers may take to go out at the end of the job.
constexpr Duration kMemberGrace = std::chrono::milliseconds(500);

uint64_t MemoryFor(const TaskOptions& options) {
  if (options.memory_bytes != 0) return options.memory_bytes;
  return ServerMemory(ReadMachineFacts("."), 1);
}

// Null if the task uses none.
absl::StatusOr<std::shared_ptr<FileSystem>> OpenCheckpoints(
    const TaskOptions& options) {
  const bool server = options.cluster.task->role == Role::kPs;
  if (server && !options.checkpoint_root.empty()) {
    return OpenCheckpointRoot(options.checkpoint_root);
  }
  return std::shared_ptr<FileSystem>();
}

// How long functions may take to end once they are told to.
constexpr Duration kFunctionGrace = std::chrono::seconds(2);

}  // namespace

MemberTask::MemberTask(std::unique_ptr<TaskHost> host,
                       std::shared_ptr<const DefinitionList> definitions,
                       std::shared_ptr<FileSystem> checkpoints)
    : host_(std::move(host)) {
  MemberOptions options;
  options.self = host_->self();
  options.insecure = host_->insecure();
  options.pid = ::getpid();
  options.resident_bytes = ResidentBytes;
  options.add_holdings = [this](TaskReport& report) { AddHoldings(report); };
  const bool is_worker = host_->options().cluster.task->role == Role::kWorker;
  if (definitions == nullptr) {
    definitions = std::make_shared<const DefinitionList>();
  }
  if (is_worker) {
    options.definitions =
        std::make_shared<const ProgramDefinitions>(Describe(*definitions));
  }
  options.turned_away_callers = [this] { return host_->turned_away(); };
  options.start_timeout = host_->options().start_timeout;
  options.return_timeout = host_->options().return_timeout;
  member_ = std::make_unique<Member>(host_->clock(), host_->logger(),
                                     host_->executor(), std::move(options));
  MembershipAnswers answers;
  answers.task = [this] { return member_->Report(); };
  answers.member = member_.get();
  Service* next = &probe_;
  if (host_->options().cluster.task->role == Role::kPs) {
    StoreOptions store;
    store.server = host_->self().index;
    store.memory_limit = MemoryFor(host_->options());
    store.checkpoints = std::move(checkpoints);
    disk_ = std::make_unique<IoThread>();
    store.disk = disk_->executor();
    // Writing files yields to training, which has the cores first.
    asio::post(store.disk, YieldCores);
    parameters_ = std::make_unique<ParameterService>(host_->clock(),
                                                     std::move(store), probe_);
    next = parameters_.get();
  }
  if (is_worker) {
    worker_ =
        std::make_unique<WorkerPart>(*host_, std::move(definitions), probe_);
    next = &worker_->service();
  }
  service_ = std::make_unique<MembershipService>(host_->self().role,
                                                 std::move(answers), *next);
}

absl::StatusOr<std::unique_ptr<MemberTask>> MemberTask::Start(
    TaskOptions options, std::shared_ptr<const DefinitionList> definitions,
    std::shared_ptr<Network> network) {
  absl::StatusOr<std::unique_ptr<TaskHost>> host =
      TaskHost::Create(std::move(options), std::move(network));
  if (!host.ok()) return host.status();
  absl::StatusOr<std::shared_ptr<FileSystem>> checkpoints =
      OpenCheckpoints((*host)->options());
  if (!checkpoints.ok()) return checkpoints.status();
  std::unique_ptr<MemberTask> task(new MemberTask(
      *std::move(host), std::move(definitions), *std::move(checkpoints)));
  CAPSTAN_RETURN_IF_ERROR(task->host_->Serve(*task->service_));
  return task;
}

MemberTask::~MemberTask() {
  host_->Shutdown(Duration::zero());
  StopThreads();
}

void MemberTask::StopThreads() {
  // Running functions need the other threads to finish.
  if (worker_ != nullptr) worker_->Stop();
  host_->StopThreads();
  // Work in progress on the disk reads memory of the host's calls, so stop it
  // last.
  if (disk_ != nullptr) disk_->Stop();
}

void MemberTask::AddHoldings(TaskReport& report) const {
  if (parameters_ == nullptr) return;
  const TablePtr table = parameters_->store().table();
  const ShardMap& map = table->map;
  if (map.version() == 0) return;
  report.generation = map.generation();
  report.left_out.assign(map.left_out().begin(), map.left_out().end());
}

absl::Status MemberTask::Join() {
  absl::Status status = RunOn(host_->executor(), member_->Run());
  if (worker_ != nullptr) unended_ = worker_->Leave(kFunctionGrace);
  // A function that does not end keeps its call open, and Shutdown would wait
  // for it.
  if (unended_ == 0) host_->Shutdown(kMemberGrace);
  return WithTask(status, host_->name());
}

}  // namespace capstan
