// The part of a link that sends closures to its worker and handles their ends.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status.h"
#include "coordinator/worker_link.h"

namespace capstan {
namespace {

// How long a worker that could not reach a server lets others go first.
constexpr Duration kRest = std::chrono::seconds(1);

// The tensors of a result, in the memory into which they were received.
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

// The value of a result, in the memory into which it was received.
absl::StatusOr<EncodedValue> ValueOf(RunReply& end, Reply reply) {
  absl::StatusOr<std::vector<Tensor>> tensors = TensorsOf(std::move(reply));
  if (!tensors.ok()) return tensors.status();
  return UnpackValue(std::move(end.value), end.attached, *std::move(tensors));
}

std::string Called(const Closure& closure) {
  return absl::StrCat("step ", closure.step, " ('", closure.function->name,
                      "')");
}

}  // namespace

bool WorkerLink::CanTake() const {
  if (!ready() || !session_->lost.ok() || stopping_) return false;
  if (session_->alone || held_ != nullptr) return false;
  if (context_.clock.Now() < rest_until_) return false;
  const size_t has = session_->in_flight.size();
  const size_t runs = session_->reply.concurrency;
  if (has < runs) return true;
  if (has >= runs + context_.queued_per_worker) return false;
  // Take more than it runs only if enough is queued for workers that have
  // nothing.
  const size_t queued = context_.queue.queued();
  const bool enough = queued > static_cast<size_t>(context_.num_workers()) ||
                      queued > context_.num_idle();
  if (!enough) context_.queue.WantMore();
  return enough;
}

size_t WorkerLink::in_flight() const {
  return session_ == nullptr ? 0 : session_->in_flight.size();
}

size_t WorkerLink::free_places() const {
  if (!ready() || !session_->lost.ok() || stopping_ || session_->alone ||
      held_ != nullptr || context_.clock.Now() < rest_until_) {
    return 0;
  }
  const size_t runs = session_->reply.concurrency;
  const size_t has = session_->in_flight.size();
  return has < runs ? runs - has : 0;
}

void WorkerLink::GiveBackHeld() {
  if (held_ == nullptr) return;
  context_.queue.GiveBack(std::exchange(held_, nullptr), Return::kUnused, task_,
                          absl::OkStatus());
}

bool WorkerLink::Recall(MonotonicTime since) {
  if (session_ == nullptr || !session_->lost.ok()) return false;
  std::vector<std::pair<MonotonicTime, uint64_t>> sent;
  for (const auto& [step, flight] : session_->in_flight) {
    sent.emplace_back(flight.since, step);
  }
  std::sort(sent.begin(), sent.end());
  // Assume that the closures that were sent first are running.
  while (sent.size() > session_->reply.concurrency) {
    const auto [at, step] = sent.back();
    Flight& flight = session_->in_flight.at(step);
    if (at <= since && !flight.recalled) {
      flight.recalled = true;
      std::vector<uint64_t> steps(1, step);
      Spawn(context_.executor,
            SendCancel(shared_from_this(), session_, std::move(steps),
                       /*unless_started=*/true));
      return true;
    }
    sent.pop_back();
  }
  return false;
}

bool WorkerLink::TakeOne() {
  const ClosurePtr closure = context_.queue.Take();
  if (closure == nullptr) return false;
  // A resource may be so new that this link has not heard of it yet.
  const bool known =
      std::all_of(closure->resources.begin(), closure->resources.end(),
                  [this](const std::shared_ptr<const uint64_t>& id) {
                    return session_->made.contains(*id);
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
    const auto made = session.made.find(*id);
    if (made != session.made.end() && !made->second.status.ok()) {
      return WithContext(made->second.status,
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
  session->in_flight.emplace(
      closure->step, Flight{.closure = closure, .since = context_.clock.Now()});
  Spawn(context_.executor,
        RunOne(shared_from_this(), session, closure, std::move(request)));
}

Task<> WorkerLink::RunOne(std::shared_ptr<WorkerLink> self, SessionPtr session,
                          ClosurePtr closure, RunRequest request) {
  PackedValue packed = PackValue(closure->arguments);
  request.arguments = std::move(packed.in_body);
  request.attached = packed.attached;
  std::string body = EncodeRunRequest(request);
  CallOptions options;
  options.timeout = kForever;
  options.reply_limit = self->context_.result_limit;
  options.cancellation = &session->cancellation;
  absl::StatusOr<Reply> reply = co_await self->channel_->Call(
      Method::kWorkerRun, std::move(body), std::move(packed.attachments),
      std::move(options));
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
    backoff_.Reset();
    absl::StatusOr<RunReply> end = DecodeRunReply(reply->body);
    absl::StatusOr<EncodedValue> value =
        end.ok() ? ValueOf(*end, *std::move(reply)) : end.status();
    if (value.ok()) {
      OnEnd(session, closure, *std::move(end), *std::move(value));
    } else {
      ++failed_;
      context_.queue.Fail(
          closure,
          WithTask(WithContext(value.status(), Called(*closure)), task_));
    }
  } else if (IsOfTheCall(reply.status())) {
    ++failed_;
    context_.queue.Fail(
        closure,
        WithTask(WithContext(reply.status(), Called(*closure)), task_));
  } else {
    Lose(session, reply.status(), /*ended=*/true);
    // It was sent, and may have killed its worker.
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
      // Its worker has tried for a long time; another one may be better placed.
      if ((absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) &&
          absl::StartsWith(TaskOf(status), "ps/")) {
        rest_until_ = context_.clock.Now() + kRest;
        // While everybody is waiting for the server, no attempt counts.
        const Return why =
            context_.is_away(TaskOf(status)) ? Return::kAway : Return::kServer;
        context_.queue.GiveBack(closure, why, task_, status);
      } else {
        context_.queue.Fail(closure, status);
      }
      return;
    }
  }
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
  // Take one closure for the one that has ended. If there is room for more, or
  // this worker was not ready for it, others may have less to do.
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
        SendCancel(shared_from_this(), session_, std::move(steps),
                   /*unless_started=*/false));
}

void WorkerLink::CancelStep(uint64_t step) {
  if (held_ != nullptr && held_->step == step) {
    context_.queue.EndCancelled(std::exchange(held_, nullptr));
    return;
  }
  if (session_ == nullptr || !session_->lost.ok()) return;
  if (!session_->in_flight.contains(step)) return;
  std::vector<uint64_t> steps(1, step);
  Spawn(context_.executor,
        SendCancel(shared_from_this(), session_, std::move(steps),
                   /*unless_started=*/false));
}

Task<> WorkerLink::SendCancel(std::shared_ptr<WorkerLink> self,
                              SessionPtr session, std::vector<uint64_t> steps,
                              bool unless_started) {
  CancelRequest request;
  request.session = session->number;
  request.steps = std::move(steps);
  request.unless_started = unless_started;
  std::string body = EncodeCancelRequest(request);
  const absl::StatusOr<Reply> reply = co_await self->CallWorker(
      Method::kWorkerCancel, std::move(body), kShort, &session->cancellation);
  // Without the request no end can be expected.
  if (!reply.ok()) self->Lose(session, reply.status());
}

}  // namespace capstan
