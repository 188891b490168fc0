#include "launch/ask_status.h"

#include <memory>
#include <utility>

#include "base/io_thread.h"
#include "base/log.h"
#include "base/random.h"
#include "base/real_clock.h"
#include "base/run_on.h"
#include "base/status.h"
#include "base/waiter.h"
#include "capstan/version.h"
#include "launch/make_cluster.h"
#include "launch/task_host.h"
#include "launch/tls_directory.h"
#include "transport/peer_channel.h"
#include "transport/tcp/tcp_network.h"
#include "transport/tls/tls_network.h"

namespace capstan {
namespace {

// Who asks. Everything it has lives on one thread.
class Asker {
 public:
  static absl::StatusOr<std::unique_ptr<Asker>> Create(
      const StatusOptions& options) {
    std::unique_ptr<Asker> asker(new Asker(options));
    if (options.tls_directory.empty()) return asker;
    absl::StatusOr<TlsOptions> files = FindAdminTlsFiles(options.tls_directory);
    if (!files.ok()) return files.status();
    absl::StatusOr<std::unique_ptr<TlsContext>> context =
        TlsContext::Load(asker->clock_, *std::move(files));
    if (!context.ok()) return context.status();
    asker->context_ = *std::move(context);
    asker->tls_ =
        std::make_unique<TlsNetwork>(asker->sockets_, *asker->context_);
    return asker;
  }

  JobStatus Ask() { return RunOn(thread_.executor(), AskHere()); }

 private:
  explicit Asker(const StatusOptions& options) : options_(options) {
    self_.version = std::string(Version());
    self_.job = JobName(options.cluster);
    self_.role = "admin";
    self_.incarnation = random_.NextU64();
  }

  Task<JobStatus> AskHere() {
    JobStatus status;
    const TaskId chief{Role::kChief, 0};
    absl::StatusOr<std::string> body = co_await Call(chief, Method::kJobStatus);
    absl::StatusOr<JobReport> report =
        body.ok() ? DecodeJobReport(*body) : body.status();
    if (report.ok()) {
      status.term = report->office.term;
      for (const TaskEntry& entry : report->tasks) {
        absl::StatusOr<TaskInfo> info = ToTaskInfo(entry);
        if (info.ok()) status.tasks.push_back(*std::move(info));
      }
      co_return status;
    }
    status.coordinator_error = std::string(report.status().message());
    co_await AskEach(status);
    co_return status;
  }

  Task<> AskEach(JobStatus& status) {
    const std::vector<TaskId> tasks = options_.cluster.spec.tasks();
    status.tasks.resize(tasks.size());
    Waiter done(thread_.executor());
    size_t left = tasks.size();
    for (size_t i = 0; i < tasks.size(); ++i) {
      Spawn(thread_.executor(), AskOne(tasks[i], status.tasks[i], left, done));
    }
    while (left > 0) co_await done.Sleep();
  }

  Task<> AskOne(TaskId task, TaskInfo& info, size_t& left, Waiter& done) {
    TaskEntry entry;
    entry.task = task.ToString();
    entry.address = options_.cluster.spec.task_address(task);
    absl::StatusOr<std::string> body = co_await Call(task, Method::kTaskStatus);
    absl::StatusOr<TaskReport> report =
        body.ok() ? DecodeTaskReport(*body) : body.status();
    if (report.ok()) {
      entry.state = TaskState::kHealthy;
      entry.report = *std::move(report);
    } else {
      entry.state = TaskState::kMissing;
      entry.error = std::string(report.status().message());
    }
    absl::StatusOr<TaskInfo> known = ToTaskInfo(entry);
    if (known.ok()) info = *std::move(known);
    --left;
    done.Wake();
  }

  Task<absl::StatusOr<std::string>> Call(TaskId task, Method method) {
    ChannelOptions options;
    options.self = self_;
    options.address = options_.cluster.spec.task_address(task);
    options.expected_task = task.ToString();
    Network& network =
        tls_ == nullptr ? static_cast<Network&>(sockets_) : *tls_;
    std::unique_ptr<Channel> channel = NewPeerChannel(
        clock_, network, logger_, random_.Fork(options.expected_task),
        thread_.executor(), options);
    CallOptions call;
    call.timeout = options_.timeout;
    std::string nothing;
    std::vector<Bytes> attachments;
    absl::StatusOr<Reply> reply = co_await channel->Call(
        method, std::move(nothing), std::move(attachments), std::move(call));
    co_await channel->Close();
    if (!reply.ok()) co_return reply.status();
    co_return std::move(reply->body);
  }

  const StatusOptions options_;
  RealClock clock_;
  Logger logger_;
  Random random_ = Random::FromOs();
  Hello self_;
  TcpNetwork sockets_{clock_};
  std::unique_ptr<TlsContext> context_;
  std::unique_ptr<TlsNetwork> tls_;
  IoThread thread_;
};

}  // namespace

absl::StatusOr<JobStatus> AskStatus(const StatusOptions& options) {
  absl::StatusOr<std::unique_ptr<Asker>> asker = Asker::Create(options);
  if (!asker.ok()) return asker.status();
  return (*asker)->Ask();
}

}  // namespace capstan
