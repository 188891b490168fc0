#include "coordinator/worker_link.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status.h"

namespace capstan {
namespace {

constexpr Duration kAttachTimeout = std::chrono::milliseconds(1500);
constexpr Duration kCancelTimeout = std::chrono::seconds(5);
// A worker that could not reach a server lets others go first for so long.
constexpr Duration kRest = std::chrono::seconds(1);
constexpr Duration kProbeTimeout = std::chrono::milliseconds(500);
// A function may take as long as it likes; what ends the wait for it is its
// end, a cancellation, or the loss of its worker.
constexpr Duration kForever = std::chrono::hours(24 * 365);

BackoffOptions AttachBackoff() {
  BackoffOptions options;
  options.initial = std::chrono::milliseconds(20);
  options.max = std::chrono::milliseconds(500);
  return options;
}

// Whether the failure of a call says something of the call, not of the worker.
bool IsOfTheCall(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) ||
         absl::IsInternal(status) || absl::IsUnimplemented(status) ||
         absl::IsPermissionDenied(status) || absl::IsDataLoss(status);
}

// The tensors of a result, in the memory that they were received into.
absl::StatusOr<std::vector<Tensor>> TensorsOf(Reply reply) {
  std::vector<Tensor> tensors;
  const auto owner = std::make_shared<Reply>(std::move(reply));
  for (const MutableBytes& bytes : owner->attachments) {
    const Shape shape({static_cast<int64_t>(bytes.size())});
    const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % 16 == 0;
    if (aligned) {
      tensors.emplace_back(DType::kU8, shape,
                           std::shared_ptr<void>(owner, bytes.data()));
      continue;
    }
    try {
      tensors.push_back(
          Tensor::CopyOf(TensorView(DType::kU8, shape, bytes.data())));
    } catch (...) {
      return StatusOfCurrentException();
    }
  }
  return tensors;
}

std::string Called(const Closure& closure) {
  return absl::StrCat("step ", closure.step, " ('", closure.function->name,
                      "')");
}

}  // namespace

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
    self->backoff_.Reset();
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
    // Each call ends at once, as the session's cancellation says so.
    while (!session->in_flight.empty()) co_await self->event_.Wait();
    self->error_ = session->lost;
    self->session_ = nullptr;
  }
  self->running_ = false;
  self->ended_.Set();
}

Task<> WorkerLink::Pause(Duration duration) {
  if (stopping_) co_return;
  const MonotonicTime until = context_.clock.Now() + duration;
  co_await timer_->SleepUntil(until);
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
  request.office = context_.office();
  request.session = context_.next_session();
  std::string body = EncodeAttachRequest(request);
  CallOptions options;
  options.timeout = kAttachTimeout;
  options.cancellation = &stop_;
  std::vector<Bytes> none;
  const absl::StatusOr<Reply> reply =
      co_await channel_->Call(Method::kWorkerAttach, std::move(body),
                              std::move(none), std::move(options));
  if (!reply.ok()) co_return reply.status();
  absl::StatusOr<AttachReply> decoded = DecodeAttachReply(reply->body);
  if (!decoded.ok()) co_return WithTask(decoded.status(), task_);
  auto session = std::make_shared<Session>();
  session->number = request.session;
  session->incarnation = decoded->incarnation;
  session->made.insert(decoded->made.begin(), decoded->made.end());
  session->reply = *std::move(decoded);
  session->reply.concurrency = std::max(session->reply.concurrency, 1u);
  for (uint32_t i = 0; i < session->reply.functions.size(); ++i) {
    session->functions.emplace(session->reply.functions[i].name, i);
  }
  // It is the process that had them, so they have not taken it down.
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

bool WorkerLink::HasResources(const Session& session) const {
  const ResourceBook::Resources all = context_.resources.all();
  for (const auto& [id, info] : all) {
    if (!session.made.contains(id) && !session.failed.contains(id)) {
      return false;
    }
  }
  return std::all_of(session.made.begin(), session.made.end(),
                     [&](uint64_t id) { return all.contains(id); });
}

void WorkerLink::OnResources() {
  if (session_ == nullptr || !prepared_) return;
  if (HasResources(*session_)) return;
  prepared_ = false;
  event_.Set();
}

Task<> WorkerLink::MakeResources(SessionPtr session) {
  const ResourceBook::Resources all = context_.resources.all();
  std::vector<uint64_t> dropped;
  for (const uint64_t id : session->made) {
    if (!all.contains(id)) dropped.push_back(id);
  }
  if (!dropped.empty()) {
    DropRequest request;
    request.session = session->number;
    request.ids = dropped;
    std::string body = EncodeDropRequest(request);
    CallOptions options;
    options.timeout = kCancelTimeout;
    options.cancellation = &session->cancellation;
    std::vector<Bytes> none;
    const absl::StatusOr<Reply> reply =
        co_await channel_->Call(Method::kWorkerDrop, std::move(body),
                                std::move(none), std::move(options));
    if (!reply.ok()) {
      Lose(session, reply.status());
      co_return;
    }
    for (const uint64_t id : dropped) session->made.erase(id);
  }
  for (const auto& [id, info] : all) {
    if (session->made.contains(id) || session->failed.contains(id)) continue;
    const absl::Status status = co_await MakeOne(session, id, info);
    if (!session->lost.ok()) co_return;
    if (status.ok()) {
      session->made.insert(id);
    } else {
      context_.logger.Warning("{}", Describe(status));
      session->failed.emplace(id, status);
    }
  }
}

Task<absl::Status> WorkerLink::MakeOne(
    SessionPtr session, uint64_t id, std::shared_ptr<const ResourceInfo> info) {
  const std::vector<ResourceInfo>& known = session->reply.resources;
  const auto found = std::find_if(
      known.begin(), known.end(),
      [&](const ResourceInfo& one) { return one.name == info->name; });
  if (found == known.end() || found->type != info->type) {
    co_return WithTask(
        absl::FailedPreconditionError(
            absl::StrCat("resource '", info->name, "' is a ", info->type,
                         " on the coordinator and ",
                         found == known.end() ? "not defined"
                                              : absl::StrCat("a ", found->type),
                         " on ", task_, ": run the same program in all tasks")),
        task_);
  }
  MakeRequest request;
  request.session = session->number;
  request.id = id;
  request.resource = static_cast<uint32_t>(found - known.begin());
  const RoundRules rules = context_.queue.rules();
  request.input.num_input_pipelines =
      std::max(context_.num_workers(), index_ + 1);
  request.input.input_pipeline_id = index_;
  request.input.num_replicas_in_sync =
      rules.sync ? static_cast<int>(rules.replicas) : 1;
  std::string body = EncodeMakeRequest(request);
  CallOptions options;
  options.timeout = kForever;
  options.cancellation = &session->cancellation;
  std::vector<Bytes> none;
  const absl::StatusOr<Reply> reply =
      co_await channel_->Call(Method::kWorkerMake, std::move(body),
                              std::move(none), std::move(options));
  if (!reply.ok()) {
    if (IsOfTheCall(reply.status())) co_return reply.status();
    Lose(session, reply.status());
    co_return reply.status();
  }
  const absl::StatusOr<RunReply> end = DecodeRunReply(reply->body);
  if (!end.ok()) co_return end.status();
  co_return end->error;
}

bool WorkerLink::CanTake() const {
  if (!ready() || !session_->lost.ok() || stopping_) return false;
  if (session_->alone || held_ != nullptr) return false;
  if (context_.clock.Now() < rest_until_) return false;
  const size_t has = session_->in_flight.size();
  const size_t runs = session_->reply.concurrency;
  if (has < runs) return true;
  if (has >= runs + context_.queued_per_worker) return false;
  // More than it runs only if there is enough for those that have nothing: what
  // a worker has it keeps.
  const size_t queued = context_.queue.queued();
  const bool enough = queued > static_cast<size_t>(context_.num_workers()) ||
                      queued > context_.num_unready();
  if (!enough) context_.queue.WantMore();
  return enough;
}

size_t WorkerLink::in_flight() const {
  return session_ == nullptr ? 0 : session_->in_flight.size();
}

bool WorkerLink::TakeOne() {
  const ClosurePtr closure = context_.queue.Take();
  if (closure == nullptr) return false;
  // A resource may be so new that this has not heard of it yet.
  const bool known = std::all_of(
      closure->resources.begin(), closure->resources.end(),
      [this](const std::shared_ptr<const uint64_t>& id) {
        return session_->made.contains(*id) || session_->failed.contains(*id);
      });
  if (!known) {
    context_.queue.GiveBack(closure, Return::kUnused, task_, absl::OkStatus());
    OnResources();
    return true;
  }
  if (closure->suspect()) {
    if (!session_->in_flight.empty()) {
      held_ = closure;
      return true;
    }
    session_->alone = true;
  }
  Send(session_, closure);
  return true;
}

void WorkerLink::Fill() {
  while (CanTake() && TakeOne()) {
  }
}

absl::StatusOr<uint32_t> WorkerLink::FindFunction(
    const Session& session, const FunctionInfo& function) const {
  const auto found = session.functions.find(function.name);
  if (found == session.functions.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "function '", function.name, "', which is ", function.signature,
        " on the coordinator, is not defined on ", task_,
        ": run the same program in all tasks"));
  }
  const FunctionInfo& other = session.reply.functions[found->second];
  if (other.signature != function.signature ||
      other.options.reads_only != function.options.reads_only) {
    return absl::FailedPreconditionError(
        absl::StrCat("function '", function.name, "' is ", function.signature,
                     function.options.reads_only ? " (reads_only)" : "",
                     " on the coordinator and ", other.signature,
                     other.options.reads_only ? " (reads_only)" : "", " on ",
                     task_, ": run the same program in all tasks"));
  }
  return found->second;
}

absl::Status WorkerLink::CheckInputs(const Session& session,
                                     const Closure& closure) const {
  for (const std::shared_ptr<const uint64_t>& id : closure.resources) {
    const auto failed = session.failed.find(*id);
    if (failed != session.failed.end()) {
      return WithContext(failed->second,
                         absl::StrCat("an input of ", Called(closure)));
    }
  }
  return absl::OkStatus();
}

void WorkerLink::Send(const SessionPtr& session, const ClosurePtr& closure) {
  const absl::StatusOr<uint32_t> function =
      FindFunction(*session, *closure->function);
  absl::Status inputs = CheckInputs(*session, *closure);
  if (!function.ok() || !inputs.ok()) {
    session->alone = false;
    ++failed_;
    context_.queue.Fail(
        closure, WithTask(function.ok() ? inputs : function.status(), task_));
    return;
  }
  RunRequest request;
  request.session = session->number;
  request.function = *function;
  request.id.fence = context_.fence();
  request.id.step = closure->step;
  request.id.round = closure->place.round;
  request.id.replica = closure->place.replica;
  request.want_value = !closure->wanted.expired();
  request.arguments = closure->arguments.bytes;
  session->in_flight.emplace(
      closure->step, Flight{.closure = closure, .since = context_.clock.Now()});
  Spawn(context_.executor, RunOne(shared_from_this(), session, closure,
                                  EncodeRunRequest(request)));
}

Task<> WorkerLink::RunOne(std::shared_ptr<WorkerLink> self, SessionPtr session,
                          ClosurePtr closure, std::string body) {
  std::vector<Bytes> attachments;
  for (const Tensor& tensor : closure->arguments.tensors) {
    attachments.push_back(tensor.view().bytes());
  }
  CallOptions options;
  options.timeout = kForever;
  options.reply_limit = self->context_.result_limit;
  options.cancellation = &session->cancellation;
  absl::StatusOr<Reply> reply =
      co_await self->channel_->Call(Method::kWorkerRun, std::move(body),
                                    std::move(attachments), std::move(options));
  self->OnAnswer(session, closure, std::move(reply));
}

void WorkerLink::OnAnswer(const SessionPtr& session, const ClosurePtr& closure,
                          absl::StatusOr<Reply> reply) {
  const auto flight = session->in_flight.find(closure->step);
  const Duration took = context_.clock.Now() - flight->second.since;
  latency_.Add(static_cast<uint64_t>(took.count() / 1000));
  latency_metric_.Observe(std::chrono::duration<double>(took).count());
  session->in_flight.erase(flight);
  if (session->in_flight.empty()) session->alone = false;
  if (reply.ok()) {
    absl::StatusOr<RunReply> end = DecodeRunReply(reply->body);
    absl::StatusOr<std::vector<Tensor>> tensors = TensorsOf(*std::move(reply));
    if (end.ok() && tensors.ok()) {
      EncodedValue value;
      value.bytes = std::move(end->value);
      value.tensors = *std::move(tensors);
      OnEnd(session, closure, *std::move(end), std::move(value));
    } else {
      ++failed_;
      context_.queue.Fail(
          closure,
          WithTask(WithContext(end.ok() ? tensors.status() : end.status(),
                               Called(*closure)),
                   task_));
    }
  } else if (IsOfTheCall(reply.status())) {
    ++failed_;
    context_.queue.Fail(
        closure,
        WithTask(WithContext(reply.status(), Called(*closure)), task_));
  } else {
    Lose(session, reply.status(), /*ended=*/true);
    // It was sent, and its worker may have been lost by it.
    if (session->leaving) {
      context_.queue.GiveBack(closure, Return::kLeaving, task_, session->lost);
    } else if (!stopping_ && !absl::IsAborted(session->lost)) {
      blamed_.push_back(closure);
      blamed_incarnation_ = session->incarnation;
      context_.queue.GiveBack(closure, Return::kLost, task_, session->lost);
    } else {
      context_.queue.GiveBack(closure, Return::kUnused, task_, session->lost);
    }
  }
  Settle(session);
}

void WorkerLink::OnEnd(const SessionPtr& session, const ClosurePtr& closure,
                       RunReply reply, EncodedValue value) {
  switch (reply.end) {
    case RunEnd::kDone:
      ++finished_;
      context_.queue.Finish(closure, std::move(value));
      return;
    case RunEnd::kCancelled:
      context_.queue.EndCancelled(closure);
      return;
    case RunEnd::kLeaving: {
      const absl::Status leaves =
          absl::UnavailableError(absl::StrCat(task_, " leaves the job"));
      context_.queue.GiveBack(closure, Return::kLeaving, task_, leaves);
      session->leaving |= session->lost.ok();
      Lose(session, leaves, /*ended=*/true);
      return;
    }
    case RunEnd::kFailed: {
      ++failed_;
      const absl::Status status =
          WithTask(WithContext(reply.error,
                               absl::StrCat(Called(*closure), " on ", task_)),
                   task_);
      // Its worker has tried for long; another one may be better placed.
      if ((absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) &&
          absl::StartsWith(TaskOf(status), "ps/")) {
        rest_until_ = context_.clock.Now() + kRest;
        context_.queue.GiveBack(closure, Return::kServer, task_, status);
      } else {
        context_.queue.Fail(closure, status);
      }
      return;
    }
  }
}

void WorkerLink::Lose(const SessionPtr& session, const absl::Status& status,
                      bool ended) {
  if (!session->lost.ok()) return;
  session->lost = status;
  prepared_ = false;
  if (!stopping_) {
    ++lost_;
    losses_metric_.Increment();
    context_.logger.Warning(
        "{} is lost with {} functions, which go to others: {}", task_,
        session->in_flight.size() + (ended ? 1 : 0), Describe(status));
  }
  if (held_ != nullptr) {
    context_.queue.GiveBack(std::exchange(held_, nullptr), Return::kUnused,
                            task_, status);
  }
  session->cancellation.Cancel();
  event_.Set();
}

void WorkerLink::Settle(const SessionPtr& session) {
  if (!session->lost.ok()) {
    event_.Set();
    return;
  }
  if (held_ != nullptr && session->in_flight.empty()) {
    session->alone = true;
    Send(session, std::exchange(held_, nullptr));
  }
  // One for the one that has ended. If there is room for more, or this worker
  // was not ready for it, others may have less to do.
  if (CanTake() && TakeOne() && (CanTake() || !prepared_)) context_.on_ready();
}

void WorkerLink::CancelAll() {
  if (held_ != nullptr) {
    context_.queue.EndCancelled(std::exchange(held_, nullptr));
  }
  if (session_ == nullptr || !session_->lost.ok()) return;
  std::vector<uint64_t> steps;
  for (const auto& [step, flight] : session_->in_flight) steps.push_back(step);
  if (steps.empty()) return;
  Spawn(context_.executor,
        SendCancel(shared_from_this(), session_, std::move(steps)));
}

void WorkerLink::CancelStep(uint64_t step) {
  if (held_ != nullptr && held_->step == step) {
    context_.queue.EndCancelled(std::exchange(held_, nullptr));
    return;
  }
  if (session_ == nullptr || !session_->lost.ok()) return;
  if (!session_->in_flight.contains(step)) return;
  Spawn(context_.executor, SendCancel(shared_from_this(), session_,
                                      std::vector<uint64_t>(1, step)));
}

Task<> WorkerLink::SendCancel(std::shared_ptr<WorkerLink> self,
                              SessionPtr session, std::vector<uint64_t> steps) {
  CancelRequest request;
  request.session = session->number;
  request.steps = std::move(steps);
  std::string body = EncodeCancelRequest(request);
  CallOptions options;
  options.timeout = kCancelTimeout;
  options.cancellation = &session->cancellation;
  std::vector<Bytes> none;
  const absl::StatusOr<Reply> reply =
      co_await self->channel_->Call(Method::kWorkerCancel, std::move(body),
                                    std::move(none), std::move(options));
  // Without it there is no end to be expected.
  if (!reply.ok()) self->Lose(session, reply.status());
}

Task<absl::StatusOr<WorkerReport>> WorkerLink::Ask(Duration timeout) {
  const std::shared_ptr<WorkerLink> self = shared_from_this();
  CallOptions options;
  options.timeout = timeout;
  std::string body;
  std::vector<Bytes> none;
  const absl::StatusOr<Reply> reply =
      co_await channel_->Call(Method::kWorkerStatus, std::move(body),
                              std::move(none), std::move(options));
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
