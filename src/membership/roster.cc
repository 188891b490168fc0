#include "membership/roster.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/waiter.h"

namespace capstan {
namespace {

// In a message that lists tasks; the rest is counted.
constexpr size_t kMostListed = 10;

bool IsPermanent(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) ||
         absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status) ||
         absl::IsUnauthenticated(status) || absl::IsUnimplemented(status);
}

bool Answers(TaskState state) {
  return state == TaskState::kHealthy || state == TaskState::kRestarted;
}

int64_t Seconds(Duration duration) {
  return std::chrono::round<std::chrono::seconds>(duration).count();
}

std::string List(const std::vector<std::string>& items) {
  const size_t shown = std::min(items.size(), kMostListed);
  const std::vector<std::string> first(
      items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown));
  std::string text = absl::StrJoin(first, ", ");
  if (shown < items.size()) {
    absl::StrAppend(&text, " and ", items.size() - shown, " more");
  }
  return text;
}

}  // namespace

// Shared by the handle and the coroutines under way. Lives on its executor, but
// for what the mutex guards.
class Roster::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Clock& clock, Logger logger, const Executor& executor,
       const ClusterSpec& spec, RosterOptions options,
       const NewChannel& new_channel);

  void Start();
  void Stop();
  Task<absl::Status> AwaitAll(Duration timeout);
  Task<absl::Status> End();
  JobReport Report() const;

 private:
  struct Watched {
    TaskId task;
    std::unique_ptr<Channel> channel;
    std::unique_ptr<Timer> timer;
    absl::Status error;        // of the last call
    bool needed = true;        // AwaitAll waits for it
    uint64_t incarnation = 0;  // of the process that answered last
  };

  static Task<> Watch(std::shared_ptr<Core> self, size_t index);
  static Task<> SendEnd(std::shared_ptr<Core> self, size_t index, size_t& left,
                        std::vector<std::string>& untold);
  // Handles what a call brought. Returns true to call again at once.
  bool OnAnswer(size_t index, const absl::StatusOr<Reply>& reply);
  void OnReport(Watched& watched, TaskEntry& entry, TaskReport report);
  void OnError(Watched& watched, TaskEntry& entry, const absl::Status& status);
  void OnOtherOffice(const Office& other);
  void SetState(TaskEntry& entry, TaskState state);
  // Those that AwaitAll waits for, each with the reason.
  std::vector<std::string> Missing() const;
  absl::Status Hopeless() const;
  void Changed() { await_timer_->Cancel(); }

  Clock& clock_;
  const Logger logger_;
  const Executor executor_;
  const RosterOptions options_;
  const std::unique_ptr<Timer> await_timer_;
  Waiter end_waiter_;
  std::vector<Watched> watched_;
  bool in_office_ = false;  // some task obeys this coordinator
  bool ended_ = false;
  absl::Status deposed_;

  // Guards all below.
  mutable std::mutex mutex_;
  Office office_;
  std::vector<TaskEntry> entries_;
  std::vector<MonotonicTime> since_;
};

Roster::Core::Core(Clock& clock, Logger logger, const Executor& executor,
                   const ClusterSpec& spec, RosterOptions options,
                   const NewChannel& new_channel)
    : clock_(clock),
      logger_(std::move(logger)),
      executor_(executor),
      options_(std::move(options)),
      await_timer_(clock.NewTimer(executor)),
      end_waiter_(executor),
      office_{.term = 1, .holder = options_.self.incarnation} {
  for (const auto& [role, tasks] : spec.as_dict()) {
    for (const auto& [index, address] : tasks) {
      const TaskId task{role, index};
      if (task.ToString() == TaskName(options_.self)) continue;
      Watched watched;
      watched.task = task;
      watched.channel = new_channel(task, address);
      watched.timer = clock.NewTimer(executor);
      // Evaluators stand beside the training.
      watched.needed = role == Role::kWorker || role == Role::kPs;
      watched_.push_back(std::move(watched));
      TaskEntry entry;
      entry.task = task.ToString();
      entry.address = address;
      entries_.push_back(std::move(entry));
      since_.push_back(clock.Now());
    }
  }
}

void Roster::Core::Start() {
  for (size_t i = 0; i < watched_.size(); ++i) {
    Spawn(executor_, Watch(shared_from_this(), i));
  }
}

void Roster::Core::Stop() {
  ended_ = true;
  for (Watched& watched : watched_) watched.timer->Cancel();
  Changed();
}

Task<> Roster::Core::Watch(std::shared_ptr<Core> self, size_t index) {
  Watched& watched = self->watched_[index];
  while (!self->ended_) {
    std::string body;
    {
      const std::lock_guard lock(self->mutex_);
      body = EncodeOffice(self->office_);
    }
    CallOptions options;
    options.timeout = self->options_.beat_timeout;
    std::vector<Bytes> attachments;
    absl::StatusOr<Reply> reply = co_await watched.channel->Call(
        Method::kMemberBeat, std::move(body), std::move(attachments),
        std::move(options));
    if (self->ended_) break;
    if (self->OnAnswer(index, reply)) continue;
    const MonotonicTime next =
        self->clock_.Now() + self->options_.beat_interval;
    co_await watched.timer->SleepUntil(next);
  }
}

bool Roster::Core::OnAnswer(size_t index, const absl::StatusOr<Reply>& reply) {
  absl::StatusOr<TaskReport> report =
      reply.ok() ? DecodeTaskReport(reply->body) : reply.status();
  Watched& watched = watched_[index];
  Office other;
  {
    const std::lock_guard lock(mutex_);
    TaskEntry& entry = entries_[index];
    if (!report.ok()) {
      OnError(watched, entry, report.status());
    } else if (report->office == office_) {
      in_office_ = true;
      OnReport(watched, entry, *std::move(report));
    } else {
      other = report->office;
    }
  }
  if (other.term != 0) {
    OnOtherOffice(other);
    return !ended_;
  }
  Changed();
  return false;
}

void Roster::Core::OnReport(Watched& watched, TaskEntry& entry,
                            TaskReport report) {
  watched.error = absl::OkStatus();
  const bool first = watched.incarnation == 0;
  const bool restarted = !first && watched.incarnation != report.incarnation;
  if (restarted) ++entry.restarts;
  watched.incarnation = report.incarnation;
  const TaskState state =
      entry.restarts > 0 ? TaskState::kRestarted : TaskState::kHealthy;
  if (first) {
    logger_.Info("{} at {} is here", entry.task, entry.address);
  } else if (restarted) {
    logger_.Warning("{} at {} has been restarted", entry.task, entry.address);
  } else if (!Answers(entry.state)) {
    logger_.Info("{} at {} is back", entry.task, entry.address);
  }
  if (restarted || entry.state != state) SetState(entry, state);
  entry.report = std::move(report);
  entry.error.clear();
}

void Roster::Core::OnError(Watched& watched, TaskEntry& entry,
                           const absl::Status& status) {
  // One that was there is lost; one that never was may be turned away.
  watched.error = status;
  entry.error = std::string(status.message());
  if (!Answers(entry.state)) return;
  logger_.Warning("{} is unreachable: {}", entry.task, Describe(status));
  SetState(entry, TaskState::kUnreachable);
}

void Roster::Core::SetState(TaskEntry& entry, TaskState state) {
  entry.state = state;
  since_[static_cast<size_t>(&entry - entries_.data())] = clock_.Now();
}

void Roster::Core::OnOtherOffice(const Office& other) {
  Office mine;
  {
    const std::lock_guard lock(mutex_);
    // An answer to a call of this coordinator's last term.
    if (other.term < office_.term) return;
    // Before it has any task: there was a coordinator before this one, which
    // may be dead or alive. After: of two that began at once one must go on.
    const bool twin = other.term == office_.term;
    if (!in_office_ || (twin && other.holder < office_.holder)) {
      office_.term = other.term + 1;
      logger_.Info("takes over from the coordinator of term {}", other.term);
      return;
    }
    mine = office_;
  }
  deposed_ = absl::AbortedError(
      absl::StrCat("another coordinator has taken over (term ", other.term,
                   ", this one has term ", mine.term,
                   "): this one ends; start only one chief per job"));
  logger_.Error("{}", Describe(deposed_));
  Stop();
  if (options_.on_deposed) options_.on_deposed(deposed_);
}

std::vector<std::string> Roster::Core::Missing() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> missing;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const TaskEntry& entry = entries_[i];
    if (!watched_[i].needed || Answers(entry.state)) continue;
    // An error names the task and its address.
    missing.push_back(entry.error.empty()
                          ? absl::StrCat(entry.task, " at ", entry.address)
                          : entry.error);
  }
  return missing;
}

absl::Status Roster::Core::Hopeless() const {
  for (const Watched& watched : watched_) {
    if (watched.needed && IsPermanent(watched.error)) return watched.error;
  }
  return absl::OkStatus();
}

Task<absl::Status> Roster::Core::AwaitAll(Duration timeout) {
  const MonotonicTime start = clock_.Now();
  const MonotonicTime deadline = start + timeout;
  MonotonicTime reminder = start + options_.reminder;
  for (;;) {
    if (!deposed_.ok()) co_return deposed_;
    if (ended_) co_return absl::CancelledError("the job has ended");
    const std::vector<std::string> missing = Missing();
    if (missing.empty()) co_return absl::OkStatus();
    absl::Status hopeless = Hopeless();
    if (!hopeless.ok()) co_return hopeless;
    const MonotonicTime now = clock_.Now();
    if (now >= deadline) {
      co_return absl::DeadlineExceededError(
          absl::StrCat(missing.size(), " of ", watched_.size(),
                       " tasks have not come up within ", Seconds(timeout),
                       " s: ", List(missing)));
    }
    if (now >= reminder) {
      reminder = now + options_.reminder;
      logger_.Info("waits for {} of {} tasks, since {} s: {}", missing.size(),
                   watched_.size(), Seconds(now - start), List(missing));
    }
    const MonotonicTime next = std::min(reminder, deadline);
    co_await await_timer_->SleepUntil(next);
  }
}

Task<> Roster::Core::SendEnd(std::shared_ptr<Core> self, size_t index,
                             size_t& left, std::vector<std::string>& untold) {
  Watched& watched = self->watched_[index];
  std::string body;
  {
    const std::lock_guard lock(self->mutex_);
    body = EncodeOffice(self->office_);
  }
  CallOptions options;
  options.timeout = self->options_.end_timeout;
  std::vector<Bytes> attachments;
  absl::StatusOr<Reply> reply = co_await watched.channel->Call(
      Method::kMemberEnd, std::move(body), std::move(attachments),
      std::move(options));
  if (!reply.ok()) {
    untold.push_back(absl::StrCat(watched.task.ToString(), " (",
                                  std::string(reply.status().message()), ")"));
  }
  co_await watched.channel->Close();
  --left;
  self->end_waiter_.Wake();
}

Task<absl::Status> Roster::Core::End() {
  std::shared_ptr<Core> self = shared_from_this();
  if (!deposed_.ok()) co_return deposed_;
  Stop();
  std::vector<size_t> present;
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (Answers(entries_[i].state)) present.push_back(i);
    }
  }
  size_t left = present.size();
  std::vector<std::string> untold;
  for (const size_t index : present) {
    Spawn(executor_, SendEnd(self, index, left, untold));
  }
  // NOLINTNEXTLINE(bugprone-infinite-loop): SendEnd counts it down.
  while (left > 0) co_await end_waiter_.Sleep();
  if (untold.empty()) co_return absl::OkStatus();
  co_return absl::UnavailableError(absl::StrCat(
      "these tasks could not be told that the job is over: ", List(untold)));
}

JobReport Roster::Core::Report() const {
  const std::lock_guard lock(mutex_);
  JobReport report;
  report.office = office_;
  report.tasks = entries_;
  const MonotonicTime now = clock_.Now();
  for (size_t i = 0; i < entries_.size(); ++i) {
    report.tasks[i].since_ms = static_cast<uint64_t>(
        std::chrono::floor<std::chrono::milliseconds>(now - since_[i]).count());
  }
  return report;
}

Roster::Roster(Clock& clock, Logger logger, const Executor& executor,
               const ClusterSpec& spec, RosterOptions options,
               const NewChannel& new_channel)
    : core_(std::make_shared<Core>(clock, std::move(logger), executor, spec,
                                   std::move(options), new_channel)) {}

Roster::~Roster() { core_->Stop(); }

void Roster::Start() { core_->Start(); }

Task<absl::Status> Roster::AwaitAll(Duration timeout) {
  return core_->AwaitAll(timeout);
}

Task<absl::Status> Roster::End() { return core_->End(); }

JobReport Roster::Report() const { return core_->Report(); }

}  // namespace capstan
