#include "launch/ask_status.h"

#include <memory>
#include <utility>

#include "base/run_on.h"
#include "base/status.h"
#include "base/waiter.h"
#include "launch/make_cluster.h"
#include "launch/printable.h"

namespace capstan {
namespace {

// One question to the job. Everything it has lives on the client's thread.
class Asker {
 public:
  explicit Asker(AdminClient& client) : client_(client) {}

  JobStatus Ask() { return RunOn(client_.executor(), AskHere()); }

 private:
  Task<JobStatus> AskHere() {
    JobStatus status;
    const TaskId chief{Role::kChief, 0};
    absl::StatusOr<std::string> body =
        co_await client_.Ask(chief, Method::kJobStatus);
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
    status.coordinator_error =
        Printable(std::string(report.status().message()));
    co_await AskEach(status);
    co_return status;
  }

  Task<> AskEach(JobStatus& status) {
    const std::vector<TaskId> tasks = client_.options().cluster.spec.tasks();
    status.tasks.resize(tasks.size());
    Waiter done(client_.executor());
    size_t left = tasks.size();
    for (size_t i = 0; i < tasks.size(); ++i) {
      Spawn(client_.executor(), AskOne(tasks[i], status.tasks[i], left, done));
    }
    // NOLINTNEXTLINE(bugprone-infinite-loop): AskOne counts it down.
    while (left > 0) co_await done.Sleep();
  }

  Task<> AskOne(TaskId task, TaskInfo& info, size_t& left, Waiter& done) {
    TaskEntry entry;
    entry.task = task.ToString();
    entry.address = client_.options().cluster.spec.task_address(task);
    absl::StatusOr<std::string> body =
        co_await client_.Ask(task, Method::kTaskStatus);
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

  AdminClient& client_;
};

}  // namespace

absl::StatusOr<JobStatus> AskStatus(const AdminOptions& options) {
  absl::StatusOr<std::unique_ptr<AdminClient>> client =
      AdminClient::Create(options);
  if (!client.ok()) return client.status();
  return Asker(**client).Ask();
}

}  // namespace capstan
