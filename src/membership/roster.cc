#include "membership/roster.h"

#include <algorithm>
#include <asio/post.hpp>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/clock.h"
#include "base/async/waiter.h"
#include "base/list_first.h"
#include "base/refusal.h"
#include "base/status.h"
#include "cluster/address.h"
#include "membership/claim.h"
#include "membership/task_record.h"

namespace capstan {
namespace {

// The most tasks that a message lists; the rest are only counted.
constexpr size_t kMostListed = 10;
// How long until a task that is not listening is told of the end again.
constexpr Duration kEndRetry = std::chrono::milliseconds(100);
// Longer than any host name and port, or socket path.
constexpr size_t kMaxAddressBytes = 512;

absl::Status CheckNewAddress(const std::string& address) {
  if (address.size() > kMaxAddressBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("an address of ", address.size(), " bytes; the limit is ",
                     kMaxAddressBytes));
  }
  return ValidateAddress(address);
}

absl::Status ObeysAnother(const TaskRecord& record, const TaskReport& report) {
  return absl::UnavailableError(
      absl::StrCat(record.task().ToString(), " at ", record.address(),
                   " obeys another coordinator (", report.coordinator,
                   ", term ", report.coordinator_term.term, ")",
                   report.hears ? "" : ", which is gone"));
}

absl::Status Taken(const TaskId& task, const std::string& address) {
  return absl::AlreadyExistsError(
      absl::StrCat(task.ToString(), " of this job is at ", address,
                   ": give the new worker an address of its own"));
}

}  // namespace

// Shared by the handle and running coroutines. Lives on its executor, except
// for what the mutex guards.
class Roster::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Clock& clock, Logger logger, const Executor& executor,
       const ClusterSpec& spec, RosterOptions options, NewChannel new_channel);

  void Start();
  void Stop();
  Task<absl::Status> AwaitAll(Duration timeout);
  Task<absl::Status> End();
  absl::StatusOr<TaskId> Join(const std::string& address);
  JobReport Report() const;
  CoordinatorTerm coordinator_term() const {
    const std::lock_guard lock(mutex_);
    return claim_.coordinator_term();
  }
  ClusterSpec Spec() const;

 private:
  struct Watched {
    explicit Watched(TaskRecord task) : record(std::move(task)) {}

    // Used on the executor; null until the task is called.
    std::unique_ptr<Channel> channel;
    std::unique_ptr<Timer> timer;
    // Guarded by the mutex, except task and address, which do not change.
    TaskRecord record;
    Claim::Stance stance;
    absl::Status unfit;  // why it is told to leave
  };
  using WatchedPtr = std::shared_ptr<Watched>;

  // What to do after a call.
  enum class Next { kWait, kCallAtOnce, kForget, kTurnAway };

  TaskRecord NewRecord(TaskId task, std::string address, bool joined) const;
  static Task<> Watch(std::shared_ptr<Core> self, WatchedPtr watched);
  // Whether the failure of a beat sent at `sent` is not yet conclusive.
  bool IsDoubtful(const absl::Status& status, MonotonicTime sent) const;
  // Tells the task that the job has ended or, if there is a reason, that it
  // must leave.
  static Task<absl::StatusOr<TaskReport>> SendNotice(std::shared_ptr<Core> self,
                                                     WatchedPtr watched,
                                                     std::string reason,
                                                     Duration timeout);
  static Task<> SendEnd(std::shared_ptr<Core> self, WatchedPtr watched,
                        bool present, size_t& left,
                        std::vector<std::string>& untold);
  // Starts calling the task unless it is being called already.
  void Begin(const WatchedPtr& watched);
  // `asked` is the term that the call was made in.
  Next OnAnswer(const WatchedPtr& watched, const CoordinatorTerm& asked,
                const absl::StatusOr<Reply>& reply);
  // Claims the job, or the remaining tasks, once none refuses.
  void ClaimIfFree();
  // With the lock held: describes another coordinator that tasks hear, and
  // those tasks; empty if there is none.
  std::string Rival() const;
  // With the lock held: what the task's report means for the claim. Once the
  // job has started, a worker's report does not depose this coordinator,
  // because the servers report the same; otherwise anyone with a worker's
  // certificate could end the job. Before that it does, because of two
  // coordinators that start at once, one may have all servers and the other all
  // workers.
  Claim::Answer Judge(Watched& watched, const TaskReport& report);
  // Call when a task obeys another coordinator, which `report` names.
  void OnDeposed(const TaskReport& report);
  // With the lock held: whether a worker runs another program; stores the
  // reason.
  bool IsToBeTurnedAway(Watched& watched, const TaskReport& report) const;
  // Tells the task to leave. Returns whether it is forgotten.
  static Task<bool> TurnAway(std::shared_ptr<Core> self, WatchedPtr watched);
  bool OnTurnedAway(const WatchedPtr& watched);
  void TellLeft(TaskEntry entry) const;
  void OnJoined(const WatchedPtr& watched);
  void Tell(const TaskEntry& entry) const;
  // With the lock held: finds or adds the task that joins from `address`.
  absl::StatusOr<WatchedPtr> Enter(const std::string& address);
  // The current tasks.
  std::vector<WatchedPtr> Tasks() const;
  // The tasks that AwaitAll is waiting for, each with the reason.
  std::vector<std::string> Missing() const;
  // Whether the job has already begun and can continue without the missing
  // tasks; without missing servers only if `also_servers` and the options
  // allow.
  bool CanBeginWithoutMissing(bool also_servers) const;
  // Logs if tasks hear another coordinator. Returns an error once they have for
  // too long.
  absl::Status CheckRival(MonotonicTime now);
  // With the lock held: the report of the answering server with the newest
  // variables; null if none has any.
  const TaskReport* Newest() const;
  // With the lock held: whether that server reports that the job continued
  // without `task`.
  bool IsLeftOut(const TaskId& task) const;
  absl::Status Hopeless() const;
  void Changed() { await_timer_->Cancel(); }

  Clock& clock_;
  const Logger logger_;
  const Executor executor_;
  const RosterOptions options_;
  const NewChannel new_channel_;
  TaskId self_;
  std::string self_address_;
  const std::unique_ptr<Timer> await_timer_;
  Waiter end_waiter_;
  const uint64_t program_;  // fingerprint of the definitions, or 0
  bool started_ = false;    // AwaitAll was OK
  MonotonicTime refused_since_ = kNever;
  bool has_servers_ = false;
  absl::Status deposed_;

  // Set on the executor only.
  std::atomic<bool> ended_ = false;

  // Guards everything below.
  mutable std::mutex mutex_;
  Claim claim_;
  std::vector<WatchedPtr> tasks_;  // in the order of TaskId
  int next_worker_ = 0;            // an index that no worker has had
};

Roster::Core::Core(Clock& clock, Logger logger, const Executor& executor,
                   const ClusterSpec& spec, RosterOptions options,
                   NewChannel new_channel)
    : clock_(clock),
      logger_(std::move(logger)),
      executor_(executor),
      options_(std::move(options)),
      new_channel_(std::move(new_channel)),
      await_timer_(clock.NewTimer(executor)),
      end_waiter_(executor),
      program_(options_.definitions == nullptr
                   ? 0
                   : ProgramFingerprint(*options_.definitions)),
      claim_(options_.self.incarnation) {
  for (const auto& [role, tasks] : spec.as_dict()) {
    for (const auto& [index, address] : tasks) {
      const TaskId task{role, index};
      if (role == Role::kWorker) next_worker_ = index + 1;
      if (role == Role::kPs) has_servers_ = true;
      if (task.ToString() == TaskName(options_.self)) {
        self_ = task;
        self_address_ = address;
        continue;
      }
      tasks_.push_back(std::make_shared<Watched>(
          NewRecord(task, address, /*joined=*/false)));
    }
  }
}

TaskRecord Roster::Core::NewRecord(TaskId task, std::string address,
                                   bool joined) const {
  return {task, std::move(address), joined,
          options_.beat_timeout + options_.beat_interval, clock_.Now()};
}

void Roster::Core::Start() {
  for (const WatchedPtr& watched : Tasks()) Begin(watched);
}

void Roster::Core::Begin(const WatchedPtr& watched) {
  if (watched->channel != nullptr) return;
  watched->channel =
      new_channel_(watched->record.task(), watched->record.address());
  watched->timer = clock_.NewTimer(executor_);
  Spawn(executor_, Watch(shared_from_this(), watched));
}

void Roster::Core::Stop() {
  {
    // A task that joins is either in the list below already or is refused.
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  for (const WatchedPtr& watched : Tasks()) {
    if (watched->timer != nullptr) watched->timer->Cancel();
  }
  Changed();
}

std::vector<Roster::Core::WatchedPtr> Roster::Core::Tasks() const {
  const std::lock_guard lock(mutex_);
  return tasks_;
}

Task<> Roster::Core::Watch(std::shared_ptr<Core> self, WatchedPtr watched) {
  bool asked_again = false;
  while (!self->ended_) {
    Beat beat;
    beat.coordinator_term = self->coordinator_term();
    beat.address = self->options_.address;
    beat.program = self->program_;
    std::string body = EncodeBeat(beat);
    CallOptions options;
    options.timeout = beat.coordinator_term.term == 0
                          ? self->options_.ask_timeout
                          : self->options_.beat_timeout;
    const MonotonicTime sent = self->clock_.Now();
    std::vector<Bytes> attachments;
    absl::StatusOr<Reply> reply = co_await watched->channel->Call(
        Method::kMemberBeat, std::move(body), std::move(attachments),
        std::move(options));
    if (self->ended_) break;
    asked_again = !asked_again && self->IsDoubtful(reply.status(), sent);
    if (asked_again) continue;
    const Next next = self->OnAnswer(watched, beat.coordinator_term, reply);
    if (next == Next::kCallAtOnce) continue;
    bool forgotten = next == Next::kForget;
    if (next == Next::kTurnAway) forgotten = co_await TurnAway(self, watched);
    if (forgotten) {
      co_await watched->channel->Close();
      break;
    }
    const MonotonicTime again =
        self->clock_.Now() + self->options_.beat_interval;
    co_await watched->timer->SleepUntil(again);
  }
  // So that the coordinator that took over need not wait for this process to
  // exit.
  if (!self->deposed_.ok()) co_await watched->channel->Close();
}

bool Roster::Core::IsDoubtful(const absl::Status& status,
                              MonotonicTime sent) const {
  // An exiting process and a network problem both break connections; if the
  // process has exited, the next beat is refused.
  if (absl::IsUnavailable(status)) return !IsRefusal(status);
  // This process may have been suspended while the answer arrived.
  return absl::IsDeadlineExceeded(status) &&
         clock_.Now() - sent > options_.beat_timeout + options_.beat_interval;
}

Roster::Core::Next Roster::Core::OnAnswer(const WatchedPtr& watched,
                                          const CoordinatorTerm& asked,
                                          const absl::StatusOr<Reply>& reply) {
  absl::StatusOr<TaskReport> report =
      reply.ok() ? DecodeTaskReport(reply->body) : reply.status();
  const MonotonicTime now = clock_.Now();
  TaskRecord& record = watched->record;
  Claim::Answer answer = Claim::Answer::kDoesNot;
  std::optional<TaskEntry> changed;
  bool has_left = false;
  {
    const std::lock_guard lock(mutex_);
    bool is_change = false;
    if (!report.ok()) {
      claim_.OnError(watched->stance);
      is_change = record.OnError(report.status(), now, logger_);
      has_left = record.HasLeft(options_.forget_after);
      if (has_left) std::erase(tasks_, watched);
    } else {
      answer = Judge(*watched, *report);
      if (answer == Claim::Answer::kObeys &&
          IsToBeTurnedAway(*watched, *report)) {
        return Next::kTurnAway;
      }
      if (answer == Claim::Answer::kObeys) {
        is_change = record.OnReport(*std::move(report), now, logger_);
      } else if (asked == claim_.coordinator_term() && asked.term != 0) {
        is_change = record.OnError(ObeysAnother(record, *report), now, logger_);
      }
    }
    if (is_change || has_left) changed = record.Entry(now);
  }
  if (answer == Claim::Answer::kDeposes) {
    OnDeposed(*report);
    return Next::kWait;
  }
  ClaimIfFree();
  if (has_left) {
    logger_.Info("{} at {} has left the job", changed->task, changed->address);
    TellLeft(*std::move(changed));
  } else if (changed) {
    Tell(*changed);
  }
  Changed();
  if (has_left) return Next::kForget;
  // Call again at once if this coordinator's term rose after the call was made.
  return asked == coordinator_term() ? Next::kWait : Next::kCallAtOnce;
}

Claim::Answer Roster::Core::Judge(Watched& watched, const TaskReport& report) {
  const bool may_depose =
      watched.record.task().role == Role::kPs || !has_servers_ || !started_;
  const Claim::Answer answer = claim_.OnReport(watched.stance, report);
  if (answer != Claim::Answer::kDeposes || may_depose) return answer;
  return Claim::Answer::kDoesNot;
}

void Roster::Core::Tell(const TaskEntry& entry) const {
  if (options_.on_change) options_.on_change(entry);
}

void Roster::Core::ClaimIfFree() {
  {
    const std::lock_guard lock(mutex_);
    // A running job keeps its term, which its steps carry.
    if (started_ || !claim_.WantsTerm() || !Rival().empty()) return;
    for (const WatchedPtr& watched : tasks_) {
      if (watched->record.needed() && !watched->stance.asked) return;
    }
    claim_.TakeTerm();
    if (claim_.coordinator_term().term > 1) {
      logger_.Info("taking over from an earlier coordinator, as term {}",
                   claim_.coordinator_term().term);
    }
  }
  for (const WatchedPtr& watched : Tasks()) {
    if (watched->timer != nullptr) watched->timer->Cancel();
  }
}

std::string Roster::Core::Rival() const {
  const Claim::Rival* rival = nullptr;
  std::vector<std::string> hear;
  for (const WatchedPtr& watched : tasks_) {
    const std::optional<Claim::Rival>& heard = watched->stance.rival;
    if (!heard) continue;
    if (rival == nullptr || rival->coordinator_term < heard->coordinator_term)
      rival = &*heard;
    hear.push_back(watched->record.task().ToString());
  }
  if (rival == nullptr) return "";
  return absl::StrCat(
      rival->address.empty() ? "at an unknown address" : rival->address,
      " (term ", rival->coordinator_term.term, "), heard ", rival->heard_ms,
      " ms ago by ", ListFirst(hear, kMostListed));
}

void Roster::Core::OnDeposed(const TaskReport& report) {
  deposed_ = absl::AbortedError(absl::StrCat(
      "another coordinator (", report.coordinator, ", term ",
      report.coordinator_term.term,
      ") has taken over the job from this one (term ", coordinator_term().term,
      "), which must have been silent: stopping; run only one "
      "chief per job"));
  logger_.Error("{}", Describe(deposed_));
  Stop();
  if (options_.on_deposed) options_.on_deposed(deposed_);
}

bool Roster::Core::IsToBeTurnedAway(Watched& watched,
                                    const TaskReport& report) const {
  const TaskId task = watched.record.task();
  if (program_ == 0 || task.role != Role::kWorker) return false;
  if (report.program == program_) return false;
  watched.unfit = CheckSameProgram(
      absl::StrCat(task.ToString(), " at ", watched.record.address()),
      *options_.definitions, report.definitions);
  return !watched.unfit.ok();
}

Task<bool> Roster::Core::TurnAway(std::shared_ptr<Core> self,
                                  WatchedPtr watched) {
  std::string reason(watched->unfit.message());
  const Duration timeout = self->options_.beat_timeout;
  const absl::StatusOr<TaskReport> told =
      co_await SendNotice(self, watched, std::move(reason), timeout);
  // A task that cannot be told is not accepted either.
  (void)told;
  co_return !self->ended_ && self->OnTurnedAway(watched);
}

bool Roster::Core::OnTurnedAway(const WatchedPtr& watched) {
  TaskRecord& record = watched->record;
  const bool forget = !record.needed();
  bool is_change = false;
  TaskEntry entry;
  {
    const std::lock_guard lock(mutex_);
    is_change = record.OnError(watched->unfit, clock_.Now(), logger_);
    if (forget) std::erase(tasks_, watched);
    entry = record.Entry(clock_.Now());
  }
  logger_.Warning("turned away a worker: {}", Describe(watched->unfit));
  if (forget) {
    TellLeft(std::move(entry));
  } else if (is_change) {
    Tell(entry);
  }
  Changed();
  return forget;
}

void Roster::Core::TellLeft(TaskEntry entry) const {
  entry.state = TaskState::kMissing;
  entry.error = "has left the job";
  Tell(entry);
}

absl::StatusOr<TaskId> Roster::Core::Join(const std::string& address) {
  CAPSTAN_RETURN_IF_ERROR(CheckNewAddress(address));
  WatchedPtr watched;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) {
      return absl::FailedPreconditionError(
          "the job is over, or has another coordinator: nobody may join");
    }
    absl::StatusOr<WatchedPtr> entered = Enter(address);
    if (!entered.ok()) return entered.status();
    watched = *std::move(entered);
  }
  const TaskId task = watched->record.task();
  logger_.Info("{} at {} joins the job", task.ToString(), address);
  asio::post(executor_,
             [self = shared_from_this(), watched] { self->OnJoined(watched); });
  return task;
}

absl::StatusOr<Roster::Core::WatchedPtr> Roster::Core::Enter(
    const std::string& address) {
  const std::string wanted = CanonicalAddress(address);
  if (CanonicalAddress(self_address_) == wanted) return Taken(self_, address);
  for (const WatchedPtr& watched : tasks_) {
    TaskRecord& record = watched->record;
    if (CanonicalAddress(record.address()) != wanted) continue;
    if (record.task().role != Role::kWorker || record.answers()) {
      return Taken(record.task(), address);
    }
    record.OnJoin(clock_.Now());
    return watched;
  }
  const size_t count = tasks_.size() + 1;
  if (count >= options_.max_tasks || next_worker_ > TaskId::kMaxIndex) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the job is full: it has ", count, " tasks"));
  }
  const TaskId task{Role::kWorker, next_worker_++};
  auto watched =
      std::make_shared<Watched>(NewRecord(task, address, /*joined=*/true));
  const auto place = std::find_if(
      tasks_.begin(), tasks_.end(),
      [&](const WatchedPtr& other) { return task < other->record.task(); });
  tasks_.insert(place, watched);
  return watched;
}

void Roster::Core::OnJoined(const WatchedPtr& watched) {
  if (ended_) return;
  TaskEntry entry;
  {
    const std::lock_guard lock(mutex_);
    entry = watched->record.Entry(clock_.Now());
  }
  Tell(entry);
  Begin(watched);
}

std::vector<std::string> Roster::Core::Missing() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> missing;
  for (const WatchedPtr& watched : tasks_) {
    const TaskRecord& record = watched->record;
    if (!record.needed() || record.answers()) continue;
    if (IsLeftOut(record.task())) continue;
    // An error names the task and its address.
    missing.push_back(
        record.error().ok()
            ? absl::StrCat(record.task().ToString(), " at ", record.address())
            : std::string(record.error().message()));
  }
  return missing;
}

const TaskReport* Roster::Core::Newest() const {
  const TaskReport* newest = nullptr;
  for (const WatchedPtr& watched : tasks_) {
    if (!watched->record.answers()) continue;
    const TaskReport& report = watched->record.report();
    if (report.generation == 0) continue;
    if (newest == nullptr || report.generation > newest->generation) {
      newest = &report;
    }
  }
  return newest;
}

bool Roster::Core::IsLeftOut(const TaskId& task) const {
  if (task.role != Role::kPs) return false;
  const TaskReport* newest = Newest();
  if (newest == nullptr) return false;
  const std::vector<uint32_t>& left_out = newest->left_out;
  return std::find(left_out.begin(), left_out.end(),
                   static_cast<uint32_t>(task.index)) != left_out.end();
}

bool Roster::Core::CanBeginWithoutMissing(bool also_servers) const {
  const std::lock_guard lock(mutex_);
  if (Newest() == nullptr || !Rival().empty()) return false;
  bool worker = false;
  for (const WatchedPtr& watched : tasks_) {
    const TaskRecord& record = watched->record;
    const TaskId task = record.task();
    if (record.answers()) {
      worker = worker || task.role == Role::kWorker;
    } else if (task.role == Role::kPs) {
      const bool may = also_servers && options_.begin_without_servers;
      if (!may && !IsLeftOut(task)) return false;
    } else if (record.needed() && record.error().ok()) {
      return false;  // it answered, and may obey in a moment
    }
  }
  return worker;
}

absl::Status Roster::Core::CheckRival(MonotonicTime now) {
  std::string rival;
  {
    const std::lock_guard lock(mutex_);
    rival = Rival();
  }
  if (rival.empty()) {
    refused_since_ = kNever;
    return absl::OkStatus();
  }
  if (refused_since_ == kNever) {
    refused_since_ = now;
    logger_.Warning(
        "this job already has a coordinator at {}; waiting up to {} s for it "
        "to stop",
        rival, RoundedSeconds(options_.takeover_timeout));
  }
  if (now - refused_since_ < options_.takeover_timeout) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this job already has a coordinator at ", rival,
                   "; stop it first, or give this job addresses of its own"));
}

absl::Status Roster::Core::Hopeless() const {
  const std::lock_guard lock(mutex_);
  for (const WatchedPtr& watched : tasks_) {
    const TaskRecord& record = watched->record;
    if (record.needed() && IsPermanent(record.error())) return record.error();
  }
  return absl::OkStatus();
}

Task<absl::Status> Roster::Core::AwaitAll(Duration timeout) {
  const MonotonicTime start = clock_.Now();
  const MonotonicTime deadline = start + timeout;
  const MonotonicTime patience =
      start + std::min(timeout, options_.absent_timeout);
  MonotonicTime reminder = start + options_.reminder;
  for (;;) {
    if (!deposed_.ok()) co_return deposed_;
    if (ended_) co_return absl::CancelledError("the job has ended");
    const std::vector<std::string> missing = Missing();
    if (missing.empty()) {
      started_ = true;
      co_return absl::OkStatus();
    }
    const MonotonicTime now = clock_.Now();
    const absl::Status refused = CheckRival(now);
    if (!refused.ok()) co_return refused;
    if (CanBeginWithoutMissing(now >= patience)) {
      logger_.Warning(
          "starting without {} of {} tasks, which can come back later: {}",
          missing.size(), Tasks().size(), ListFirst(missing, kMostListed));
      started_ = true;
      co_return absl::OkStatus();
    }
    absl::Status hopeless = Hopeless();
    if (!hopeless.ok()) co_return hopeless;
    if (now >= deadline) {
      co_return absl::DeadlineExceededError(absl::StrCat(
          missing.size(), " of ", Tasks().size(),
          " tasks have not come up within ", RoundedSeconds(timeout),
          " s: ", ListFirst(missing, kMostListed)));
    }
    if (now >= reminder) {
      reminder = now + options_.reminder;
      logger_.Info("still waiting ({} s) for {} of {} tasks: {}",
                   RoundedSeconds(now - start), missing.size(), Tasks().size(),
                   ListFirst(missing, kMostListed));
    }
    MonotonicTime next = std::min(reminder, deadline);
    if (now < patience) next = std::min(next, patience);
    if (refused_since_ != kNever) {
      next = std::min(next, refused_since_ + options_.takeover_timeout);
    }
    co_await await_timer_->SleepUntil(next);
  }
}

Task<absl::StatusOr<TaskReport>> Roster::Core::SendNotice(
    std::shared_ptr<Core> self, WatchedPtr watched, std::string reason,
    Duration timeout) {
  EndNotice notice;
  notice.coordinator_term = self->coordinator_term();
  notice.reason = std::move(reason);
  absl::StatusOr<Reply> reply;
  // Retry, because a process that was suspended learns only now that its
  // connections are closed, and another may be just starting.
  const MonotonicTime deadline = self->clock_.Now() + timeout;
  const std::unique_ptr<Timer> timer = self->clock_.NewTimer(self->executor_);
  for (bool again = true; again;) {
    std::string body = EncodeEndNotice(notice);
    CallOptions options;
    options.timeout = deadline - self->clock_.Now();
    std::vector<Bytes> attachments;
    reply = co_await watched->channel->Call(Method::kMemberEnd, std::move(body),
                                            std::move(attachments),
                                            std::move(options));
    const MonotonicTime now = self->clock_.Now();
    const MonotonicTime next = now + kEndRetry;
    again = absl::IsUnavailable(reply.status()) && next < deadline;
    if (again) co_await timer->SleepUntil(next);
  }
  if (!reply.ok()) co_return reply.status();
  co_return DecodeTaskReport(reply->body);
}

Task<> Roster::Core::SendEnd(std::shared_ptr<Core> self, WatchedPtr watched,
                             bool present, size_t& left,
                             std::vector<std::string>& untold) {
  const Duration timeout =
      present ? self->options_.end_timeout : self->options_.absent_end_timeout;
  std::string over;
  const absl::StatusOr<TaskReport> report =
      co_await SendNotice(self, watched, std::move(over), timeout);
  if (report.ok()) {
    Claim::Answer answer;
    {
      const std::lock_guard lock(self->mutex_);
      answer = self->Judge(*watched, *report);
    }
    if (answer == Claim::Answer::kDeposes && self->deposed_.ok()) {
      self->OnDeposed(*report);
    }
  }
  if (!report.ok() && present) {
    untold.push_back(absl::StrCat(watched->record.task().ToString(), " (",
                                  std::string(report.status().message()), ")"));
  }
  co_await watched->channel->Close();
  --left;
  self->end_waiter_.Wake();
}

Task<absl::Status> Roster::Core::End() {
  std::shared_ptr<Core> self = shared_from_this();
  if (!deposed_.ok()) co_return deposed_;
  Stop();
  std::vector<std::pair<WatchedPtr, bool>> tasks;
  {
    const std::lock_guard lock(mutex_);
    for (const WatchedPtr& watched : tasks_) {
      tasks.emplace_back(watched, watched->record.answers());
    }
  }
  size_t left = tasks.size();
  std::vector<std::string> untold;
  for (const auto& [watched, present] : tasks) {
    Spawn(executor_, SendEnd(self, watched, present, left, untold));
  }
  // NOLINTNEXTLINE(bugprone-infinite-loop): SendEnd counts it down.
  while (left > 0) co_await end_waiter_.Sleep();
  if (!deposed_.ok()) co_return deposed_;
  if (untold.empty()) co_return absl::OkStatus();
  co_return absl::UnavailableError(
      absl::StrCat("these tasks could not be told that the job is over: ",
                   ListFirst(untold, kMostListed)));
}

JobReport Roster::Core::Report() const {
  const std::lock_guard lock(mutex_);
  JobReport report;
  report.coordinator_term = claim_.coordinator_term();
  const MonotonicTime now = clock_.Now();
  for (const WatchedPtr& watched : tasks_) {
    report.tasks.push_back(watched->record.Entry(now));
  }
  return report;
}

ClusterSpec Roster::Core::Spec() const {
  ClusterSpec::Jobs jobs;
  if (!self_address_.empty()) jobs[self_.role][self_.index] = self_address_;
  for (const WatchedPtr& watched : Tasks()) {
    const TaskId task = watched->record.task();
    jobs[task.role][task.index] = watched->record.address();
  }
  return ClusterSpec::FromDict(std::move(jobs));
}

Roster::Roster(Clock& clock, Logger logger, const Executor& executor,
               const ClusterSpec& spec, RosterOptions options,
               NewChannel new_channel)
    : core_(std::make_shared<Core>(clock, std::move(logger), executor, spec,
                                   std::move(options),
                                   std::move(new_channel))) {}

Roster::~Roster() { core_->Stop(); }

void Roster::Start() { core_->Start(); }

Task<absl::Status> Roster::AwaitAll(Duration timeout) {
  return core_->AwaitAll(timeout);
}

Task<absl::Status> Roster::End() { return core_->End(); }

absl::StatusOr<TaskId> Roster::Join(const std::string& address) {
  return core_->Join(address);
}

JobReport Roster::Report() const { return core_->Report(); }

CoordinatorTerm Roster::coordinator_term() const {
  return core_->coordinator_term();
}

ClusterSpec Roster::Spec() const { return core_->Spec(); }

}  // namespace capstan
