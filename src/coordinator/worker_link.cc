#include "coordinator/worker_link.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace capstan {
namespace {

constexpr Duration kAttachTimeout = std::chrono::milliseconds(1500);
constexpr Duration kProbeTimeout = std::chrono::milliseconds(500);
// Limit on the concurrency that a worker may report.
constexpr uint32_t kMaxConcurrency = 1024;

BackoffOptions AttachBackoff() {
  BackoffOptions options;
  options.initial = std::chrono::milliseconds(20);
  options.max = std::chrono::milliseconds(500);
  return options;
}

}  // namespace

bool WorkerLink::IsOfTheCall(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) ||
         absl::IsInternal(status) || absl::IsUnimplemented(status) ||
         absl::IsPermissionDenied(status) || absl::IsDataLoss(status);
}

WorkerLink::WorkerLink(LinkContext& context, std::string task, int index,
                       std::unique_ptr<Channel> channel, Random random)
    : context_(context),
      task_(std::move(task)),
      index_(index),
      channel_(std::move(channel)),
      backoff_(AttachBackoff(), random),
      timer_(context.clock.NewTimer(context.executor)),
      event_(context.executor),
      ended_(context.executor),
      away_since_(context.clock.Now()),
      latency_metric_(context.metrics.LatencyOf(task_)),
      losses_metric_(context.metrics.LossesOf(task_)) {}

void WorkerLink::Start() {
  running_ = true;
  Spawn(context_.executor, Run(shared_from_this()));
}

Task<> WorkerLink::Stop() {
  const std::shared_ptr<WorkerLink> self = shared_from_this();
  stopping_ = true;
  stop_.Cancel();
  timer_->Cancel();
  event_.Set();
  if (session_ != nullptr) {
    Lose(session_, absl::CancelledError("the coordinator ends"));
  }
  if (running_) co_await ended_.Wait();
  co_await channel_->Close();
}

Task<> WorkerLink::Run(std::shared_ptr<WorkerLink> self) {
  while (!self->stopping_) {
    self->error_ = co_await self->Attach();
    if (!self->error_.ok()) {
      if (!std::exchange(self->complained_, true)) {
        self->context_.logger.Debug("cannot attach to {}: {}", self->task_,
                                    Describe(self->error_));
      }
      const Duration pause = self->backoff_.Next();
      co_await self->Pause(pause);
      continue;
    }
    self->complained_ = false;
    self->context_.on_attached();
    const SessionPtr session = self->session_;
    while (!self->stopping_ && session->lost.ok()) {
      if (!self->HasResources(*session)) {
        co_await self->MakeResources(session);
        continue;
      }
      if (!self->prepared_) {
        self->prepared_ = true;
        self->Fill();
        self->context_.on_ready();
        continue;
      }
      co_await self->event_.Wait();
    }
    self->prepared_ = false;
    if (self->stopping_) {
      self->Lose(session, absl::CancelledError("the coordinator ends"));
    }
    // Each call ends at once, because the session was cancelled.
    while (!session->in_flight.empty()) co_await self->event_.Wait();
    self->error_ = session->lost;
    self->session_ = nullptr;
    // Do not keep asking a worker that accepts attachments and nothing else; an
    // answer resets the back-off.
    const Duration pause = self->backoff_.Next();
    co_await self->Pause(pause);
  }
  self->running_ = false;
  self->ended_.Set();
}

Task<> WorkerLink::Pause(Duration duration) {
  if (stopping_) co_return;
  const MonotonicTime until = context_.clock.Now() + duration;
  co_await timer_->SleepUntil(until);
}

bool WorkerLink::Counts(Duration patience) const {
  const bool there = session_ != nullptr && session_->lost.ok();
  return there || context_.clock.Now() - away_since_ < patience;
}

void WorkerLink::Nudge() {
  backoff_.Reset();
  if (session_ == nullptr) timer_->Cancel();
}

void WorkerLink::OnUnreachable() {
  if (session_ == nullptr || !session_->lost.ok()) return;
  Spawn(context_.executor, Probe(shared_from_this(), session_));
}

Task<> WorkerLink::Probe(std::shared_ptr<WorkerLink> self, SessionPtr session) {
  const absl::StatusOr<WorkerReport> report = co_await self->Ask(kProbeTimeout);
  if (!report.ok()) self->Lose(session, report.status());
}

Task<absl::Status> WorkerLink::Attach() {
  AttachRequest request;
  request.coordinator_term = context_.coordinator_term();
  request.session = context_.next_session();
  std::string body = EncodeAttachRequest(request);
  const absl::StatusOr<Reply> reply = co_await CallWorker(
      Method::kWorkerAttach, std::move(body), kAttachTimeout, &stop_);
  if (!reply.ok()) co_return reply.status();
  absl::StatusOr<AttachReply> decoded = DecodeAttachReply(reply->body);
  if (!decoded.ok()) co_return WithTask(decoded.status(), task_);
  // The roster is going to reject it, but may not have seen it yet.
  const absl::Status same = CheckProgram(*decoded);
  if (!same.ok()) co_return same;
  auto session = std::make_shared<Session>();
  session->number = request.session;
  session->incarnation = decoded->incarnation;
  // Their contexts are unknown. "0 pipelines" matches none, so they are
  // requested again.
  for (const uint64_t id : decoded->made) {
    session->made[id].input.num_input_pipelines = 0;
  }
  session->reply = *std::move(decoded);
  session->reply.concurrency =
      std::clamp(session->reply.concurrency, 1u, kMaxConcurrency);
  for (uint32_t i = 0; i < session->reply.functions.size(); ++i) {
    session->functions.emplace(session->reply.functions[i].name, i);
  }
  // It is the same process, so these closures have not killed it.
  if (session->incarnation == blamed_incarnation_) {
    for (const std::weak_ptr<Closure>& weak : blamed_) {
      const ClosurePtr closure = weak.lock();
      if (closure != nullptr) context_.queue.Absolve(*closure, task_);
    }
  }
  blamed_.clear();
  session_ = std::move(session);
  co_return absl::OkStatus();
}

absl::Status WorkerLink::CheckProgram(const AttachReply& reply) const {
  if (context_.definitions == nullptr) return absl::OkStatus();
  const ProgramDefinitions definitions =
      DescribeDefinitions(reply.functions, reply.resources);
  return WithTask(CheckSameProgram(task_, *context_.definitions, definitions),
                  task_);
}

void WorkerLink::Lose(const SessionPtr& session, const absl::Status& status,
                      bool ended) {
  if (!session->lost.ok()) return;
  session->lost = status;
  prepared_ = false;
  away_since_ = context_.clock.Now();
  if (!stopping_) {
    ++lost_;
    losses_metric_.Increment();
    context_.logger.Warning(
        "{} is lost, and what it had (functions: {}) goes to others: {}", task_,
        session->in_flight.size() + (ended ? 1 : 0), Describe(status));
  }
  if (held_ != nullptr) {
    context_.queue.GiveBack(std::exchange(held_, nullptr), Return::kUnused,
                            task_, status);
  }
  session->cancellation.Cancel();
  event_.Set();
}

Task<absl::StatusOr<Reply>> WorkerLink::CallWorker(Method method,
                                                   std::string body,
                                                   Duration timeout,
                                                   Cancellation* cancellation) {
  CallOptions options;
  options.timeout = timeout;
  options.cancellation = cancellation;
  std::vector<Bytes> none;
  return channel_->Call(method, std::move(body), std::move(none),
                        std::move(options));
}

Task<absl::StatusOr<WorkerReport>> WorkerLink::Ask(Duration timeout) {
  const std::shared_ptr<WorkerLink> self = shared_from_this();
  std::string body;
  const absl::StatusOr<Reply> reply = co_await CallWorker(
      Method::kWorkerStatus, std::move(body), timeout, nullptr);
  if (!reply.ok()) co_return reply.status();
  co_return DecodeWorkerReport(reply->body);
}

LinkReport WorkerLink::Report() const {
  LinkReport report;
  report.task = task_;
  report.state = session_ == nullptr || !session_->lost.ok()
                     ? LinkState::kConnecting
                     : (prepared_ ? LinkState::kReady : LinkState::kPreparing);
  report.in_flight = static_cast<uint32_t>(in_flight());
  report.finished = finished_;
  report.failed = failed_;
  report.lost = lost_;
  report.mean_us = latency_.Mean();
  report.p99_us = latency_.Percentile(0.99);
  if (!error_.ok()) report.error = std::string(error_.message());
  if (session_ != nullptr && session_->making != nullptr) {
    report.making = session_->making->name;
    report.making_ms = static_cast<uint64_t>(
        (context_.clock.Now() - session_->making_since).count() / 1'000'000);
  }
  if (session_ != nullptr && !session_->in_flight.empty()) {
    const auto oldest =
        std::min_element(session_->in_flight.begin(), session_->in_flight.end(),
                         [](const auto& a, const auto& b) {
                           return a.second.since < b.second.since;
                         });
    report.oldest_step = oldest->first;
    report.oldest_function = oldest->second.closure->function->name;
    report.oldest_ms = static_cast<uint64_t>(
        (context_.clock.Now() - oldest->second.since).count() / 1'000'000);
  }
  return report;
}

}  // namespace capstan
