#include "launch/coordinator_task.h"

#include <unistd.h>

#include <mutex>
#include <utility>

#include "base/async/run_on.h"
#include "base/file/posix_file_system.h"
#include "base/status.h"
#include "launch/system/resident_memory.h"

namespace capstan {
namespace {

constexpr Duration kCoordinatorGrace = std::chrono::milliseconds(500);

// Creates the empty file, unless `path` is empty.
absl::Status Touch(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const std::string folder(DirectoryOf(path));
  auto files = PosixFileSystem::Open(folder.empty() ? "." : folder);
  CAPSTAN_RETURN_IF_ERROR(files.status());
  auto file = (*files)->CreateForWrite(NameOf(path), IfExists::kTruncate);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  return (*file)->Close();
}

}  // namespace

CoordinatorTask::CoordinatorTask(
    std::unique_ptr<TaskHost> host,
    std::shared_ptr<const ProgramDefinitions> definitions)
    : host_(std::move(host)),
      definitions_(std::move(definitions)),
      started_(host_->clock().Now()) {
  dispatcher_ = std::make_unique<DispatcherService>(
      *host_, definitions_, [this]() -> const Roster& { return *roster_; },
      probe_);
  MembershipAnswers answers;
  answers.task = [this] { return Self(); };
  answers.job = [this] { return Report(); };
  answers.join = [this](const JoinRequest& request) { return Join(request); };
  service_ = std::make_unique<MembershipService>(
      host_->self().role, std::move(answers), *dispatcher_);
}

absl::StatusOr<std::unique_ptr<CoordinatorTask>> CoordinatorTask::Start(
    TaskOptions options, std::shared_ptr<const DefinitionList> definitions,
    const OnDeposed& on_deposed, std::shared_ptr<Network> network) {
  absl::StatusOr<std::unique_ptr<TaskHost>> host =
      TaskHost::Create(std::move(options), std::move(network));
  if (!host.ok()) return host.status();
  std::shared_ptr<const ProgramDefinitions> described;
  if (definitions != nullptr) {
    described =
        std::make_shared<const ProgramDefinitions>(Describe(*definitions));
  }
  std::unique_ptr<CoordinatorTask> task(
      new CoordinatorTask(*std::move(host), std::move(described)));
  // The roster must exist before the service, which queries it.
  task->MakeRoster(on_deposed);
  CAPSTAN_RETURN_IF_ERROR(task->host_->Serve(*task->service_));
  const auto start = [&task] { task->roster_->Start(); };
  CallOn(task->host_->executor(), start);
  return task;
}

void CoordinatorTask::MakeRoster(const OnDeposed& on_deposed) {
  RosterOptions options;
  options.self = host_->self();
  options.address = host_->listen_address();
  options.definitions = definitions_;
  options.begin_without_servers = !host_->options().checkpoint_root.empty();
  options.on_deposed = [this, on_deposed](const absl::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      deposed_ = status;
    }
    if (on_deposed) on_deposed(status);
  };
  options.on_change = [this](const TaskEntry& entry) {
    dispatcher_->OnTask(entry);
  };
  const auto new_channel = [this](const TaskId& task,
                                  const std::string& address) {
    return host_->NewRosterChannel(task.ToString(), address);
  };
  const auto make = [&] {
    roster_ = std::make_unique<Roster>(
        host_->clock(), host_->logger(), host_->executor(),
        host_->options().cluster.spec, std::move(options), new_channel);
  };
  CallOn(host_->executor(), make);
}

CoordinatorTask::~CoordinatorTask() {
  dispatcher_->Close();
  host_->Shutdown(kCoordinatorGrace);
  const auto destroy = [this] { roster_ = nullptr; };
  CallOn(host_->executor(), destroy);
  host_->StopThreads();
}

absl::Status CoordinatorTask::deposed() const {
  const std::lock_guard lock(mutex_);
  return deposed_;
}

absl::Status CoordinatorTask::AwaitAll() {
  return RunOn(host_->executor(),
               roster_->AwaitAll(host_->options().start_timeout));
}

absl::Status CoordinatorTask::End() {
  dispatcher_->Close();
  // Before any task can have left.
  if (deposed().ok()) {
    const absl::Status touched = Touch(host_->options().over_file);
    if (!touched.ok()) host_->logger().Warning("{}", Describe(touched));
  }
  return RunOn(host_->executor(), roster_->End());
}

absl::StatusOr<JoinReply> CoordinatorTask::Join(const JoinRequest& request) {
  const absl::StatusOr<TaskId> task = roster_->Join(request.address);
  if (!task.ok()) return task.status();
  JoinReply reply;
  reply.task = task->ToString();
  reply.job = host_->self().job;
  reply.cluster = roster_->Spec().ToJson();
  return reply;
}

TaskReport CoordinatorTask::Self() const {
  TaskReport report;
  report.task = host_->name();
  report.version = host_->self().version;
  report.incarnation = host_->self().incarnation;
  report.pid = ::getpid();
  report.uptime_ms =
      static_cast<uint64_t>(std::chrono::floor<std::chrono::milliseconds>(
                                host_->clock().Now() - started_)
                                .count());
  report.resident_bytes = ResidentBytes();
  report.coordinator_term = roster_->Report().coordinator_term;
  report.insecure = host_->insecure();
  return report;
}

JobReport CoordinatorTask::Report() const {
  JobReport report = roster_->Report();
  TaskEntry self;
  self.task = host_->name();
  self.address = host_->options().cluster.spec.task_address(
      *host_->options().cluster.task);
  self.state = TaskState::kHealthy;
  self.report = Self();
  self.since_ms = self.report.uptime_ms;
  report.tasks.insert(report.tasks.begin(), std::move(self));
  return report;
}

}  // namespace capstan
