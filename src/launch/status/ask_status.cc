#include "launch/status/ask_status.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/async/run_on.h"
#include "base/async/waiter.h"
#include "base/refusal.h"

namespace capstan {
namespace {

constexpr TaskId kChief{Role::kChief, 0};

bool IsThere(const TaskEntry& entry) {
  return entry.state == TaskState::kHealthy ||
         entry.state == TaskState::kRestarted;
}

// One query of the job. All its state lives on the client's thread.
class Asker {
 public:
  explicit Asker(AdminClient& client)
      : client_(client),
        started_(client.clock().Now()),
        idle_(client.executor()) {}

  JobStatus Ask() { return RunOn(client_.executor(), AskHere()); }

 private:
  Task<JobStatus> AskHere() {
    const std::vector<TaskId> tasks = client_.options().cluster.spec.tasks();
    co_await AskChief();
    // Nothing is added from here on: the coroutines hold references to the
    // elements.
    if (status_.chief.ok()) {
      Start(AskDispatch());
    } else {
      status_.tasks.resize(tasks.size());
      for (size_t i = 0; i < tasks.size(); ++i) {
        TaskEntry& entry = status_.tasks[i];
        entry.task = tasks[i].ToString();
        entry.address = client_.options().cluster.spec.task_address(tasks[i]);
        if (tasks[i] == kChief) {
          NoteError(entry, status_.chief);
        } else {
          Start(AskTask(tasks[i], entry));
        }
      }
    }
    std::vector<TaskId> servers = tasks;
    std::erase_if(servers, [](TaskId it) { return it.role != Role::kPs; });
    for (const TaskId& server : servers) {
      status_.stores.push_back({server.ToString(), absl::UnknownError("")});
    }
    for (size_t i = 0; i < servers.size(); ++i) {
      Start(AskStore(servers[i], status_.stores[i]));
    }
    // NOLINTNEXTLINE(bugprone-infinite-loop): the requests count down.
    while (asked_ > 0) co_await idle_.Sleep();
    if (!status_.chief.ok()) ConcludeWithoutChief();
    co_return std::move(status_);
  }

  Task<> AskChief() {
    // The other half is for the other tasks, if the chief does not answer.
    const Duration timeout = client_.options().timeout / 2;
    absl::StatusOr<std::string> body =
        co_await client_.Ask(kChief, Method::kJobStatus, timeout);
    absl::StatusOr<JobReport> report =
        body.ok() ? DecodeJobReport(*body) : body.status();
    status_.chief = report.status();
    if (!report.ok()) co_return;
    status_.term = report->coordinator_term.term;
    status_.tasks = std::move(report->tasks);
  }

  Task<> AskDispatch() {
    const Duration timeout = Left();
    absl::StatusOr<std::string> body =
        co_await client_.Ask(kChief, Method::kDispatchStatus, timeout);
    if (body.ok()) {
      absl::StatusOr<DispatchReport> report = DecodeDispatchReport(*body);
      if (report.ok()) status_.dispatch = *std::move(report);
    }
    End();
  }

  Task<> AskTask(TaskId task, TaskEntry& entry) {
    const Duration timeout = Left();
    absl::StatusOr<std::string> body =
        co_await client_.Ask(task, Method::kTaskStatus, timeout);
    absl::StatusOr<TaskReport> report =
        body.ok() ? DecodeTaskReport(*body) : body.status();
    if (report.ok()) {
      entry.state = TaskState::kHealthy;
      entry.report = *std::move(report);
    } else {
      NoteError(entry, report.status());
    }
    End();
  }

  Task<> AskStore(TaskId task, ServerStore& store) {
    const Duration timeout = Left();
    absl::StatusOr<std::string> body =
        co_await client_.Ask(task, Method::kStoreStatus, timeout);
    if (body.ok()) {
      store.report = DecodeStoreReport(*body);
    } else {
      store.report = body.status();
    }
    End();
  }

  void NoteError(TaskEntry& entry, const absl::Status& error) {
    if (!IsRefusal(error)) ++unclear_;
    entry.state = absl::IsDeadlineExceeded(error) ? TaskState::kSilent
                                                  : TaskState::kMissing;
    entry.error = std::string(error.message());
  }

  // The other tasks report the term and how long the chief has been silent.
  void ConcludeWithoutChief() {
    TaskEntry* chief = nullptr;
    uint64_t silence = UINT64_MAX;
    for (TaskEntry& entry : status_.tasks) {
      if (entry.task == kChief.ToString()) chief = &entry;
      if (!IsThere(entry) || entry.report.coordinator_term.term == 0) continue;
      status_.term = std::max(status_.term, entry.report.coordinator_term.term);
      silence = std::min(silence, entry.report.heard_ms);
    }
    if (chief != nullptr && silence != UINT64_MAX) chief->since_ms = silence;
    status_.nobody_listens = status_.CountThere() == 0 && unclear_ == 0;
  }

  Duration Left() const {
    return started_ + client_.options().timeout - client_.clock().Now();
  }

  void Start(Task<> question) {
    ++asked_;
    Spawn(client_.executor(), std::move(question));
  }

  void End() {
    --asked_;
    idle_.Wake();
  }

  AdminClient& client_;
  const MonotonicTime started_;
  JobStatus status_;
  size_t asked_ = 0;
  size_t unclear_ = 0;  // errors other than "nobody listens"
  Waiter idle_;
};

}  // namespace

size_t JobStatus::CountThere() const {
  return static_cast<size_t>(
      std::count_if(tasks.begin(), tasks.end(), IsThere));
}

absl::StatusOr<JobStatus> AskStatus(const AdminOptions& options) {
  absl::StatusOr<std::unique_ptr<AdminClient>> client =
      AdminClient::Create(options);
  if (!client.ok()) return client.status();
  return Asker(**client).Ask();
}

}  // namespace capstan
