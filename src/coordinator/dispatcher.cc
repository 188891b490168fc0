#include "coordinator/dispatcher.h"

#include <algorithm>
#include <asio/post.hpp>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/async/awake_time.h"
#include "base/async/cancellation.h"
#include "base/async/event.h"
#include "base/list_first.h"
#include "base/status.h"
#include "coordinator/server_registry.h"

namespace capstan {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(100);
constexpr Duration kRateWindow = std::chrono::seconds(1);
constexpr Duration kAskTimeout = std::chrono::seconds(1);
constexpr Duration kRoundTimeout = std::chrono::seconds(5);
constexpr Duration kRetry = std::chrono::milliseconds(100);
// The monitor runs at least this often, unless this process is stopped.
constexpr Duration kLongestLook = std::chrono::seconds(2);
constexpr size_t kMostTasksListed = 10;

bool Answers(TaskState state) {
  return state == TaskState::kHealthy || state == TaskState::kRestarted;
}

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

// Shared with its coroutines and with work that other threads post.
class Dispatcher::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Clock& clock, Logger logger, const Executor& executor,
       std::function<CoordinatorTerm()> coordinator_term,
       ParameterClient& client, NewChannel new_channel, Random random,
       DispatcherOptions options);

  void Start();
  Task<> Stop();
  void OnTask(const TaskEntry& entry);
  DispatchReport Report() const;
  std::string Obstacle() const;
  // "no worker is ready: ..."; empty if one is.
  std::string NoWorker() const;
  const ServerRegistry& servers() const { return servers_; }
  Task<absl::StatusOr<std::vector<std::string>>> Recover(Duration timeout,
                                                         bool go_on_without);

  const std::shared_ptr<ClosureQueue>& queue() { return shared_queue_; }
  ResourceRegistry& resources() { return *resources_; }
  const Logger& logger() const { return logger_; }
  std::shared_ptr<Cancellation> until_lost() const { return until_lost_; }
  MetricsRegistry& metrics() { return registry_; }
  JobVariables& variables() { return variables_; }

 private:
  ClosureQueueOptions QueueOptions();
  LinkContext MakeContext();
  // From any thread: calls `method` on the executor, if this object still
  // exists then.
  void Post(void (Core::*method)());
  void PostKick();
  void Kick();
  void CancelAll();
  void CancelStep(uint64_t step);
  void ShareResources();

  void OnWorker(const TaskEntry& entry);
  void OnServer(const TaskEntry& entry);
  void CheckServers();
  // Waits until all serving servers answer and nothing is running. Returns all
  // servers that do not answer. Once `waited`, which it advances, reaches
  // `timeout`, these may include serving ones if `go_on_without`; else
  // DeadlineExceeded, naming one.
  Task<absl::StatusOr<std::vector<uint32_t>>> AwaitServers(AwakeTime& waited,
                                                           Duration timeout,
                                                           bool go_on_without);

  static Task<> StopLink(std::shared_ptr<Core> self,
                         std::shared_ptr<WorkerLink> link);
  static Task<> RunRounds(std::shared_ptr<Core> self);
  static Task<> RunMonitor(std::shared_ptr<Core> self);
  // Tells the servers about rounds and clocks that are complete.
  Task<> SettleRounds();
  // After a failure to settle a round, before it is tried again.
  Task<> AfterFailure(absl::Status status);
  void LookAtWorkers(MonotonicTime now);
  // Recalls closures that are queued behind long ones, for workers that have
  // nothing to do.
  void Rebalance(MonotonicTime now);
  void MeasureRate(MonotonicTime now);
  static Task<> Watch(std::shared_ptr<Core> self);
  Task<> Pause(Timer& timer, Duration duration);
  size_t NumUnready() const;
  size_t NumIdle() const;
  InputContext PipelineOf(int index) const;
  // After a worker has arrived or left.
  void UpdatePipelines();

  Clock& clock_;
  const Logger logger_;
  const Executor executor_;
  const std::function<CoordinatorTerm()> coordinator_term_;
  ParameterClient& client_;
  const NewChannel new_channel_;
  Random random_;
  const DispatcherOptions options_;
  MetricsRegistry registry_;
  DispatchMetrics metrics_;
  std::atomic<bool> kick_posted_ = false;
  const std::shared_ptr<ClosureQueue> shared_queue_;
  ClosureQueue& queue_;
  const std::shared_ptr<ResourceRegistry> resources_;
  JobVariables variables_;
  LinkContext context_;
  std::map<std::string, std::shared_ptr<WorkerLink>> links_;
  // The numbers of the workers that have input pipelines, in order: those whose
  // links count.
  std::vector<int> pipelines_;
  ServerRegistry servers_;
  uint64_t last_session_ = 0;
  Cancellation stop_;  // for requests to the servers
  std::shared_ptr<Cancellation> until_lost_ = std::make_shared<Cancellation>();
  // While the variables are being created again: cancelled when a server is
  // lost.
  std::shared_ptr<Cancellation> rebuilding_;
  bool stopping_ = false;
  size_t loops_ = 0;  // coroutines that Stop waits for
  Event round_event_;
  Event loops_ended_;
  const std::unique_ptr<Timer> round_timer_;
  const std::unique_ptr<Timer> monitor_timer_;
  AwakeTime without_worker_;
  Duration next_reminder_ = Duration::zero();  // for without_worker_
  uint64_t ended_ = 0;                         // closures, at the last check
  AwakeTime without_progress_;
  bool watching_ = false;
  MonotonicTime rate_since_;
  uint64_t rate_from_ = 0;
  double rate_ = 0;
};

Dispatcher::Core::Core(Clock& clock, Logger logger, const Executor& executor,
                       std::function<CoordinatorTerm()> coordinator_term,
                       ParameterClient& client, NewChannel new_channel,
                       Random random, DispatcherOptions options)
    : clock_(clock),
      logger_(std::move(logger)),
      executor_(executor),
      coordinator_term_(std::move(coordinator_term)),
      client_(client),
      new_channel_(std::move(new_channel)),
      random_(random),
      options_(std::move(options)),
      metrics_(registry_),
      shared_queue_(std::make_shared<ClosureQueue>(QueueOptions())),
      queue_(*shared_queue_),
      resources_(std::make_shared<ResourceRegistry>(
          [this] { Post(&Core::ShareResources); })),
      variables_(
          client_, queue_, [this] { return coordinator_term_().term; },
          options_.attach, options_.begin_without_servers),
      context_(MakeContext()),
      servers_(
          [this](uint32_t server) { return variables_.map().Serves(server); },
          options_.server_timeout),
      round_event_(executor),
      loops_ended_(executor),
      round_timer_(clock.NewTimer(executor)),
      monitor_timer_(clock.NewTimer(executor)),
      without_worker_(kLongestLook, clock.Now()),
      without_progress_(kLongestLook, clock.Now()),
      rate_since_(clock.Now()) {}

ClosureQueueOptions Dispatcher::Core::QueueOptions() {
  ClosureQueueOptions options;
  options.capacity = options_.queue_capacity;
  options.poison_limit = options_.poison_limit;
  options.on_work = [this] { PostKick(); };
  options.on_cancel_all = [this] { Post(&Core::CancelAll); };
  options.on_cancel = [this](uint64_t step) {
    asio::post(executor_, [weak = weak_from_this(), step] {
      const std::shared_ptr<Core> self = weak.lock();
      if (self != nullptr) self->CancelStep(step);
    });
  };
  options.on_change = options_.on_change;
  options.on_then = options_.run_callback;
  if (options.on_then == nullptr) {
    options.on_then = [this](std::function<void()> then) {
      asio::post(executor_, std::move(then));
    };
  }
  return options;
}

LinkContext Dispatcher::Core::MakeContext() {
  return {.clock = clock_,
          .logger = logger_,
          .executor = executor_,
          .queue = queue_,
          .resources = *resources_,
          .metrics = metrics_,
          .queued_per_worker = options_.queued_per_worker,
          .result_limit = options_.result_limit,
          .definitions = options_.definitions,
          .coordinator_term = coordinator_term_,
          .fence = [this] { return variables_.fence(); },
          .num_workers = [this] { return static_cast<int>(links_.size()); },
          .pipeline = [this](int index) { return PipelineOf(index); },
          .on_attached = [this] { UpdatePipelines(); },
          .next_session = [this] { return ++last_session_; },
          .num_idle = [this] { return NumIdle(); },
          .is_away =
              [this](const std::string& task) { return servers_.IsAway(task); },
          .on_ready = [this] { Kick(); }};
}

void Dispatcher::Core::Post(void (Core::*method)()) {
  asio::post(executor_, [weak = weak_from_this(), method] {
    const std::shared_ptr<Core> self = weak.lock();
    if (self != nullptr) (self.get()->*method)();
  });
}

void Dispatcher::Core::PostKick() {
  // A Kick that is already posted will see the current state.
  if (kick_posted_.exchange(true)) return;
  Post(&Core::Kick);
}

void Dispatcher::Core::Kick() {
  kick_posted_ = false;
  if (stopping_) return;
  round_event_.Set();
  // Each worker gets a closure before any gets two.
  bool more = true;
  for (size_t level = 0; more; ++level) {
    more = false;
    for (const auto& [task, link] : links_) {
      if (!link->CanTake()) continue;
      more = true;
      if (link->in_flight() > level) continue;
      if (!link->TakeOne()) return;
    }
  }
}

void Dispatcher::Core::CancelAll() {
  for (const auto& [task, link] : links_) link->CancelAll();
}

void Dispatcher::Core::CancelStep(uint64_t step) {
  for (const auto& [task, link] : links_) link->CancelStep(step);
}

void Dispatcher::Core::ShareResources() {
  for (const auto& [task, link] : links_) link->OnResources();
}

void Dispatcher::Core::Start() {
  loops_ = 2;
  Spawn(executor_, RunRounds(shared_from_this()));
  Spawn(executor_, RunMonitor(shared_from_this()));
}

Task<> Dispatcher::Core::Stop() {
  const std::shared_ptr<Core> self = shared_from_this();
  stopping_ = true;
  stop_.Cancel();
  until_lost_->Cancel();
  resources_->Close();
  round_event_.Set();
  round_timer_->Cancel();
  monitor_timer_->Cancel();
  const auto links = links_;
  for (const auto& [task, link] : links) co_await link->Stop();
  // NOLINTNEXTLINE(bugprone-infinite-loop): the loops count it down.
  while (loops_ > 0) co_await loops_ended_.Wait();
  // Everybody who is still waiting gets an error.
  queue_.FailAll(absl::CancelledError("the coordinator has ended"));
  queue_.Detach();
}

Task<> Dispatcher::Core::Pause(Timer& timer, Duration duration) {
  if (stopping_) co_return;
  const MonotonicTime until = clock_.Now() + duration;
  co_await timer.SleepUntil(until);
}

void Dispatcher::Core::OnTask(const TaskEntry& entry) {
  if (stopping_) return;
  if (absl::StartsWith(entry.task, "worker/")) OnWorker(entry);
  if (absl::StartsWith(entry.task, "ps/")) OnServer(entry);
}

void Dispatcher::Core::OnWorker(const TaskEntry& entry) {
  const auto found = links_.find(entry.task);
  if (found != links_.end()) {
    if (Answers(entry.state)) found->second->Nudge();
    if (entry.state == TaskState::kUnreachable ||
        entry.state == TaskState::kSilent) {
      found->second->OnUnreachable();
    }
    // The worker was known and is no longer part of the job.
    if (entry.state == TaskState::kMissing) {
      ++loops_;
      Spawn(executor_, StopLink(shared_from_this(), found->second));
      links_.erase(found);
      UpdatePipelines();
    }
    return;
  }
  int index = 0;
  const std::string number = entry.task.substr(entry.task.find('/') + 1);
  if (!absl::SimpleAtoi(number, &index)) return;
  auto link = std::make_shared<WorkerLink>(
      context_, entry.task, index, new_channel_(entry.task, entry.address),
      random_.Fork(entry.task));
  links_.emplace(entry.task, link);
  UpdatePipelines();
  link->Start();
}

InputContext Dispatcher::Core::PipelineOf(int index) const {
  InputContext input;
  input.num_input_pipelines = static_cast<int>(pipelines_.size());
  const auto place =
      std::lower_bound(pipelines_.begin(), pipelines_.end(), index);
  input.input_pipeline_id = static_cast<int>(place - pipelines_.begin());
  return input;
}

void Dispatcher::Core::UpdatePipelines() {
  std::vector<int> counted;
  for (const auto& [task, link] : links_) {
    if (link->Counts(options_.away_timeout)) counted.push_back(link->index());
  }
  std::sort(counted.begin(), counted.end());
  if (counted == pipelines_) return;
  pipelines_ = std::move(counted);
  ShareResources();
}

Task<> Dispatcher::Core::StopLink(std::shared_ptr<Core> self,
                                  std::shared_ptr<WorkerLink> link) {
  co_await link->Stop();
  --self->loops_;
  self->loops_ended_.Set();
}

void Dispatcher::Core::OnServer(const TaskEntry& entry) {
  const bool answered = servers_.Answers(entry.task);
  const bool other = servers_.OnTask(entry, variables_.any());
  // Variables that are being created again are lost with this process.
  if (rebuilding_ != nullptr && other) rebuilding_->Cancel();
  const std::vector<std::string> returned = servers_.Returned();
  if (!answered && std::count(returned.begin(), returned.end(), entry.task)) {
    logger_.Info(
        "{} is there again; the job has gone on without it, and uses it again "
        "when the variables are next made anew",
        entry.task);
  }
  if (variables_.any()) {
    const std::optional<std::string> reminder =
        servers_.Reminder(entry.task, options_.reminder);
    if (reminder) logger_.Warning("{}", *reminder);
  }
  CheckServers();
}

void Dispatcher::Core::CheckServers() {
  if (!variables_.any()) return;
  const absl::Status lost = servers_.Lost();
  if (!lost.ok()) {
    queue_.Break(lost);
    until_lost_->Cancel();
    return;
  }
  if (until_lost_->cancelled() && !stopping_) {
    until_lost_ = std::make_shared<Cancellation>();
  }
  queue_.Mend();
}

Task<absl::StatusOr<std::vector<std::string>>> Dispatcher::Core::Recover(
    Duration timeout, bool go_on_without) {
  if (servers_.Lost().ok()) {
    if (servers_.Returned().empty()) {
      co_return absl::FailedPreconditionError(
          "there is nothing to recover from: no server has lost its variables");
    }
    const QueueCounts counts = queue_.counts();
    // Otherwise these functions would continue with the initial values.
    if (counts.queued + counts.in_flight > 0) {
      co_return absl::FailedPreconditionError(absl::StrCat(
          counts.queued + counts.in_flight,
          " functions are queued or run: Join, before a server that is back "
          "gets its part again"));
    }
  }
  // The time for which servers have been silent already counts.
  AwakeTime waited(kLongestLook, clock_.Now(), servers_.LeastSilence());
  while (true) {
    absl::StatusOr<std::vector<uint32_t>> absent =
        co_await AwaitServers(waited, timeout, go_on_without);
    if (!absent.ok()) co_return absent.status();
    // A server that restarts in the meantime may or may not have the variables.
    const ServerRegistry::Processes asked = servers_.Now();
    const auto rebuilding = std::make_shared<Cancellation>();
    rebuilding_ = rebuilding;
    std::vector<uint32_t> left_out = *std::move(absent);
    const absl::Status status =
        co_await variables_.Rebuild(std::move(left_out), rebuilding.get());
    rebuilding_ = nullptr;
    if (rebuilding->cancelled() && !stopping_) continue;
    if (!status.ok()) co_return status;
    servers_.HaveVariables(asked);
    CheckServers();
    const absl::Status lost = servers_.Lost();
    if (!lost.ok()) co_return lost;
    std::vector<std::string> without = servers_.LeftOut();
    if (!without.empty()) {
      logger_.Warning(
          "the job goes on without {}: {} of {} servers hold the variables",
          ListFirst(without, kMostTasksListed),
          servers_.size() - without.size(), servers_.size());
    }
    co_return without;
  }
}

Task<absl::StatusOr<std::vector<uint32_t>>> Dispatcher::Core::AwaitServers(
    AwakeTime& waited, Duration timeout, bool go_on_without) {
  const std::unique_ptr<Timer> timer = clock_.NewTimer(executor_);
  Duration reminder = waited.elapsed() + options_.reminder;
  while (!stopping_) {
    const Duration so_far = waited.Look(clock_.Now());
    const bool late = so_far >= timeout;
    const std::vector<uint32_t> absent = servers_.Absent();
    const std::vector<std::string> awaited = servers_.Awaited();
    bool enough = awaited.empty();
    if (!enough && so_far >= reminder) {
      reminder = so_far + options_.reminder;
      logger_.Warning("waiting for {} ({:.0f} s so far); {} in {:.0f} s",
                      ListFirst(awaited, kMostTasksListed), Seconds(so_far),
                      go_on_without ? "continuing without" : "giving up",
                      Seconds(timeout - so_far));
    }
    if (late && go_on_without) enough = absent.size() < servers_.size();
    // Closures that are running are being cancelled; they must not count in
    // later rounds.
    if (enough && queue_.counts().in_flight == 0) co_return absent;
    if (late) {
      const absl::Status lost = servers_.Lost();
      co_return WithTask(absl::DeadlineExceededError(
                             absl::StrCat("still after ", Seconds(timeout),
                                          " s: ", std::string(lost.message()))),
                         TaskOf(lost));
    }
    co_await Pause(*timer, kLook);
  }
  co_return absl::CancelledError("the coordinator has ended");
}

Task<> Dispatcher::Core::RunRounds(std::shared_ptr<Core> self) {
  while (!self->stopping_) {
    co_await self->SettleRounds();
    if (!self->stopping_) co_await self->round_event_.Wait();
  }
  --self->loops_;
  self->loops_ended_.Set();
}

Task<> Dispatcher::Core::SettleRounds() {
  while (!stopping_ && rebuilding_ == nullptr) {
    const std::optional<RoundDecision> commit = queue_.NextCommit();
    const std::optional<RoundDecision> next =
        commit ? commit : queue_.NextTick();
    if (!next) co_return;
    RoundRequest request;
    request.fence = variables_.fence();
    request.round = next->round;
    request.replicas = next->replicas;
    UpdateOptions options;
    options.timeout = kRoundTimeout;
    options.cancellation = &stop_;
    const uint64_t generation = request.fence.generation;
    absl::Status status;
    if (commit) {
      status = co_await client_.Commit(std::move(request), options);
    } else {
      status = co_await client_.Tick(std::move(request), options);
    }
    // The rounds of variables that were lost no longer matter.
    if (rebuilding_ != nullptr || variables_.fence().generation != generation) {
      continue;
    }
    if (!status.ok()) {
      co_await AfterFailure(std::move(status));
    } else if (commit) {
      queue_.Committed(next->round);
    } else {
      queue_.Ticked(*next);
    }
  }
}

Task<> Dispatcher::Core::AfterFailure(absl::Status status) {
  if (stopping_) co_return;
  // Whether an unreachable server is lost is up to the roster.
  const bool passing =
      absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  if (!passing) queue_.FailAll(WithContext(status, "a round was not settled"));
  co_await Pause(*round_timer_, kRetry);
}

Task<> Dispatcher::Core::RunMonitor(std::shared_ptr<Core> self) {
  bool refused = false;  // and it was said
  while (!self->stopping_) {
    const uint64_t watermark = self->queue_.counts().watermark;
    const absl::Status told =
        co_await self->variables_.MoveWatermark(watermark, &self->stop_);
    // If the servers cannot be told now, they get a higher watermark later; but
    // not if they refuse what it says.
    if (absl::IsInvalidArgument(told) && !std::exchange(refused, true)) {
      self->logger_.Error(
          "the servers refuse to hear which steps are over, so that they keep "
          "more and more, and a new coordinator could not resume: {}",
          std::string(told.message()));
    }
    if (self->stopping_) break;
    const MonotonicTime now = self->clock_.Now();
    self->LookAtWorkers(now);
    self->UpdatePipelines();
    self->MeasureRate(now);
    // A worker may have rested long enough.
    self->Kick();
    self->Rebalance(now);
    co_await self->Pause(*self->monitor_timer_, kLook);
  }
  --self->loops_;
  self->loops_ended_.Set();
}

size_t Dispatcher::Core::NumUnready() const {
  return static_cast<size_t>(
      std::count_if(links_.begin(), links_.end(),
                    [](const auto& item) { return !item.second->ready(); }));
}

size_t Dispatcher::Core::NumIdle() const {
  return static_cast<size_t>(
      std::count_if(links_.begin(), links_.end(), [](const auto& item) {
        return !item.second->ready() || item.second->free_places() > 0;
      }));
}

void Dispatcher::Core::Rebalance(MonotonicTime now) {
  size_t places = 0;
  bool empty = false;
  for (const auto& [task, link] : links_) {
    places += link->free_places();
    empty |= link->free_places() > 0 && link->in_flight() == 0;
  }
  if (empty) {
    for (const auto& [task, link] : links_) link->GiveBackHeld();
  }
  // A closure that arrived a moment ago starts in time by itself.
  bool any = true;
  while (places > 0 && any) {
    any = false;
    for (const auto& [task, link] : links_) {
      if (places == 0) break;
      if (!link->Recall(now - kLook)) continue;
      any = true;
      --places;
    }
  }
}

std::string Dispatcher::Core::Obstacle() const {
  std::vector<std::string> obstacles = servers_.AllSilent();
  std::string no_worker = NoWorker();
  if (!no_worker.empty()) obstacles.push_back(std::move(no_worker));
  return absl::StrJoin(obstacles, "; ");
}

std::string Dispatcher::Core::NoWorker() const {
  // A worker that is making its resources is present, however long that takes.
  const bool any =
      std::any_of(links_.begin(), links_.end(),
                  [](const auto& item) { return item.second->attached(); });
  if (any) return "";
  std::vector<std::string> all;
  for (const auto& [task, link] : links_) {
    const LinkReport report = link->Report();
    all.push_back(absl::StrCat(task, " (",
                               report.error.empty()
                                   ? std::string(LinkStateName(report.state))
                                   : report.error,
                               ")"));
  }
  return all.empty() ? "the job has no workers"
                     : absl::StrCat("no worker is ready: ",
                                    ListFirst(all, kMostTasksListed));
}

void Dispatcher::Core::LookAtWorkers(MonotonicTime now) {
  const QueueCounts counts = queue_.counts();
  metrics_.Update(counts, links_.size() - NumUnready());
  const bool work = counts.queued + counts.in_flight > 0;
  const std::string obstacle = work ? NoWorker() : "";
  const Duration waited = without_worker_.Look(now);
  if (obstacle.empty()) {
    without_worker_.Restart(now);
    next_reminder_ = options_.reminder;
  } else if (waited >= options_.no_worker_timeout) {
    without_worker_.Restart(now);
    queue_.FailAll(absl::UnavailableError(absl::StrCat(
        "waited for ", Seconds(options_.no_worker_timeout), " s to run ",
        counts.queued, counts.queued == 1 ? " function" : " functions",
        ", and ", obstacle)));
  } else if (waited >= next_reminder_) {
    next_reminder_ = waited + options_.reminder;
    logger_.Warning("waiting to run {} {} for {:.0f} s: {}", counts.queued,
                    counts.queued == 1 ? "function" : "functions",
                    Seconds(waited), obstacle);
  }
  const uint64_t ended = counts.finished + counts.failed + counts.cancelled;
  const Duration idle = without_progress_.Look(now);
  if (ended != ended_ || !work) {
    ended_ = ended;
    without_progress_.Restart(now);
  } else if (options_.watchdog > Duration::zero() &&
             idle >= options_.watchdog && !watching_) {
    without_progress_.Restart(now);
    watching_ = true;
    Spawn(executor_, Watch(shared_from_this()));
  }
}

void Dispatcher::Core::MeasureRate(MonotonicTime now) {
  if (now - rate_since_ < kRateWindow) return;
  const uint64_t finished = queue_.counts().finished;
  rate_ =
      static_cast<double>(finished - rate_from_) / Seconds(now - rate_since_);
  rate_from_ = finished;
  rate_since_ = now;
}

Task<> Dispatcher::Core::Watch(std::shared_ptr<Core> self) {
  const QueueCounts counts = self->queue_.counts();
  self->logger_.Warning(
      "no function has finished for {:.0f} s; {} run, {} are queued{}. What "
      "each task waits for:",
      Seconds(self->options_.watchdog), counts.in_flight, counts.queued,
      counts.error.ok() ? "" : ", and an error waits to be raised");
  const auto links = self->links_;
  for (const auto& [task, link] : links) {
    const absl::StatusOr<WorkerReport> report = co_await link->Ask(kAskTimeout);
    if (self->stopping_) break;
    if (!report.ok()) {
      self->logger_.Warning("  {}: does not answer: {}", task,
                            Describe(report.status()));
      continue;
    }
    const LinkReport report_of_link = link->Report();
    if (!report_of_link.making.empty()) {
      self->logger_.Warning(
          "  {}: for resource '{}', which it makes since {} ms", task,
          report_of_link.making, report_of_link.making_ms);
    } else if (report->running.empty()) {
      self->logger_.Warning("  {}: for something to do", task);
    }
    for (const RunningClosure& running : report->running) {
      const std::string what =
          !running.started
              ? "waits for the functions before it"
              : (running.waits_for.empty()
                     ? "computes"
                     : absl::StrCat("waits for ", running.waits_for, " since ",
                                    running.waits_ms, " ms"));
      self->logger_.Warning("  {}: step {} ('{}'), there since {} ms, {}", task,
                            running.step, running.function, running.since_ms,
                            what);
    }
  }
  for (const absl::Status& lost : self->servers_.AllLost()) {
    self->logger_.Warning("  {}", Describe(lost));
  }
  for (const std::string& silent : self->servers_.AllSilent()) {
    self->logger_.Warning("  {}", silent);
  }
  self->watching_ = false;
}

DispatchReport Dispatcher::Core::Report() const {
  const QueueCounts counts = queue_.counts();
  DispatchReport report;
  report.active = true;
  report.queued = counts.queued;
  report.in_flight = counts.in_flight;
  report.finished = counts.finished;
  report.failed = counts.failed;
  report.cancelled = counts.cancelled;
  report.lost_retries = counts.lost_retries;
  report.server_retries = counts.server_retries;
  report.leaving_retries = counts.leaving_retries;
  report.poisoned = counts.poisoned;
  report.watermark = counts.watermark;
  report.round = counts.round;
  report.per_second = rate_;
  if (!counts.error.ok()) report.error = Describe(counts.error);
  for (const auto& [task, link] : links_) {
    report.workers.push_back(link->Report());
  }
  return report;
}

Dispatcher::Dispatcher(Clock& clock, Logger logger, const Executor& executor,
                       std::function<CoordinatorTerm()> coordinator_term,
                       ParameterClient& client, NewChannel new_channel,
                       Random random, DispatcherOptions options)
    : core_(std::make_shared<Core>(
          clock, std::move(logger), executor, std::move(coordinator_term),
          client, std::move(new_channel), random, std::move(options))) {}

Dispatcher::~Dispatcher() = default;

void Dispatcher::Start() { core_->Start(); }
Task<> Dispatcher::Stop() { return core_->Stop(); }
void Dispatcher::OnTask(const TaskEntry& entry) { core_->OnTask(entry); }
ClosureQueue& Dispatcher::queue() { return *core_->queue(); }
std::shared_ptr<ClosureQueue> Dispatcher::shared_queue() {
  return core_->queue();
}
Task<absl::StatusOr<UpdateResult>> Dispatcher::Apply(
    Operation operation, std::vector<VariableUpdate> updates) {
  const std::shared_ptr<Core> core = core_;
  const std::shared_ptr<Cancellation> until_lost = core->until_lost();
  absl::StatusOr<UpdateResult> result = co_await core->variables().Apply(
      operation, std::move(updates), until_lost.get());
  const absl::Status lost = core->servers().Lost();
  if (absl::IsCancelled(result.status()) && !lost.ok()) co_return lost;
  co_return result;
}

Task<absl::Status> Dispatcher::Publish() {
  const std::shared_ptr<Core> core = core_;
  const std::shared_ptr<Cancellation> until_lost = core->until_lost();
  absl::Status status = co_await core->variables().Publish(until_lost.get());
  const absl::Status lost = core->servers().Lost();
  if (absl::IsCancelled(status) && !lost.ok()) co_return lost;
  co_return status;
}

std::shared_ptr<Cancellation> Dispatcher::until_lost() const {
  return core_->until_lost();
}
const Logger& Dispatcher::logger() const { return core_->logger(); }
MetricsRegistry& Dispatcher::metrics() { return core_->metrics(); }
ResourceRegistry& Dispatcher::resources() { return core_->resources(); }
absl::Status Dispatcher::LostServer() const { return core_->servers().Lost(); }
std::vector<std::string> Dispatcher::ReturnedServers() const {
  return core_->servers().Returned();
}

Task<absl::StatusOr<std::vector<std::string>>> Dispatcher::Recover(
    Duration timeout, bool go_on_without) {
  return core_->Recover(timeout, go_on_without);
}

JobVariables& Dispatcher::variables() { return core_->variables(); }
DispatchReport Dispatcher::Report() const { return core_->Report(); }
std::string Dispatcher::Obstacle() const { return core_->Obstacle(); }

}  // namespace capstan
