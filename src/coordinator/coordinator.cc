#include <algorithm>
#include <shared_mutex>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/async/run_on.h"
#include "base/error.h"
#include "base/status.h"
#include "coordinator/coordinator_impl.h"

namespace capstan {
namespace {

constexpr size_t kMostRecordText = 64 << 10;
// Limit for all records of the program; the rest is for those of the library.
constexpr size_t kMostRecords = kMaxRecordBytes / 2;

// Throws the exception for `status`; PoisonedClosure for poisoned closures.
void Throw(const absl::Status& status) {
  if (status.ok()) return;
  const absl::optional<absl::Cord> poisoned = status.GetPayload(kPoisonedUrl);
  if (!poisoned) throw ToError(status);
  const std::string names(*poisoned);
  throw PoisonedClosure(ToError(status), absl::StrSplit(names, ", "));
}

// The same for a failure of a task, after making sure that nothing that was
// cancelled because of it can still change a variable.
void ThrowFailure(CoordinatorMaker::Impl& coordinator_impl,
                  const absl::Status& status) {
  if (!TaskOf(status).empty() || status.GetPayload(kPoisonedUrl)) {
    RunOn(coordinator_impl.executor, coordinator_impl.dispatcher.Publish())
        .IgnoreError();
  }
  Throw(status);
}

// Tells the servers which steps keys stand for, before any of these steps runs.
Task<absl::Status> PublishKeys(Dispatcher& dispatcher) {
  if (!dispatcher.variables().any()) {
    co_return absl::FailedPreconditionError(
        "make the variables before you schedule steps with keys");
  }
  co_return co_await dispatcher.Publish();
}

absl::Status PutWithKey(CoordinatorMaker::Impl& coordinator_impl,
                        const std::shared_ptr<Closure>& closure) {
  ClosureQueue& queue = coordinator_impl.dispatcher.queue();
  while (true) {
    const std::string open =
        coordinator_impl.dispatcher.variables().records().FindOpenPart();
    if (!open.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "step key ", *closure->key, ": '", open,
          "' is training; steps with keys cannot be scheduled meanwhile"));
    }
    const absl::StatusOr<bool> put = queue.TryPut(closure);
    if (!put.ok() || *put) return put.status();
    if (queue.NumberKey(*closure->key)) {
      CAPSTAN_RETURN_IF_ERROR(RunOn(coordinator_impl.executor,
                                    PublishKeys(coordinator_impl.dispatcher)));
    } else {
      queue.AwaitPlace(*closure);
    }
  }
}

}  // namespace

PoisonedClosure::PoisonedClosure(const Error& error,
                                 std::vector<std::string> workers)
    : Error(error),
      workers_(std::make_shared<const std::vector<std::string>>(
          std::move(workers))) {}
PoisonedClosure::~PoisonedClosure() = default;

struct RemoteValueBase::State {
  std::shared_ptr<ClosureQueue> queue;
  std::shared_ptr<Closure> closure;
};

RemoteValueBase::RemoteValueBase(std::shared_ptr<State> state)
    : state_(std::move(state)) {}

bool RemoteValueBase::Ready() const noexcept {
  return state_->queue->IsDone(*state_->closure);
}

void RemoteValueBase::Cancel() const {
  state_->queue->Cancel(*state_->closure);
}

const EncodedValue& RemoteValueBase::Await(const Patience& patience) const {
  const Closure& closure = *state_->closure;
  const std::chrono::nanoseconds timeout = patience.timeout;
  const auto waited = std::chrono::steady_clock::now() - patience.since;
  if (!state_->queue->Wait(closure, timeout - waited)) {
    throw Error(
        ErrorCode::kDeadlineExceeded,
        absl::StrCat("step ", closure.step, " ('", closure.function->name,
                     "') has not ended within ",
                     std::chrono::duration<double>(timeout).count(), " s"));
  }
  Throw(state_->queue->StatusOf(closure));
  return closure.value;
}

void RemoteValueBase::CallWhenReady(std::function<void()> callback) const {
  state_->queue->Then(*state_->closure, std::move(callback));
}

ClusterCoordinator::~ClusterCoordinator() = default;

absl::StatusOr<DispatcherOptions> CoordinatorMaker::CheckOptions(
    const CoordinatorOptions& options) {
  if (options.max_lost_workers < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_lost_workers must be at least 1, not ", options.max_lost_workers));
  }
  if (options.queued_per_worker < 0 || options.queued_per_worker > 10'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("queued_per_worker must be 0 to 10000, not ",
                     options.queued_per_worker));
  }
  if (options.no_worker_timeout < Duration::zero() ||
      options.server_timeout < Duration::zero() ||
      options.watchdog < Duration::zero()) {
    return absl::InvalidArgumentError(
        "no_worker_timeout, server_timeout and watchdog must not be negative");
  }
  DispatcherOptions checked;
  checked.queue_capacity = options.queue_capacity;
  checked.poison_limit = static_cast<size_t>(options.max_lost_workers);
  checked.queued_per_worker = static_cast<uint32_t>(options.queued_per_worker);
  checked.result_limit = options.max_result_bytes;
  checked.no_worker_timeout = options.no_worker_timeout;
  checked.server_timeout = options.server_timeout;
  checked.watchdog = options.watchdog;
  checked.attach = options.attach;
  return checked;
}

void ClusterCoordinator::CreateVariables(const std::vector<VariableSpec>& specs,
                                         const Partitioner& partitioner) {
  const std::lock_guard lock(impl_->changing);
  JobVariables& variables = impl_->dispatcher.variables();
  Throw(RunOn(impl_->executor, variables.Begin()));
  // Variables that were taken over have values newer than a checkpoint's.
  std::vector<std::string> made;
  for (const VariableSpec& spec : specs) {
    if (variables.map().Find(spec.name) == nullptr) made.push_back(spec.name);
  }
  Throw(RunOn(impl_->executor, variables.Create(specs, partitioner)));
  if (impl_->on_created != nullptr && !made.empty()) {
    Throw(impl_->on_created(made));
  }
}

void ClusterCoordinator::DropVariables(const std::vector<std::string>& names) {
  const std::lock_guard lock(impl_->changing);
  Throw(RunOn(impl_->executor, impl_->dispatcher.variables().Drop(names)));
}

void ClusterCoordinator::SetLearningRate(
    const std::vector<std::string>& variables, const LearningRate& rate) {
  const std::lock_guard lock(impl_->changing);
  Throw(RunOn(impl_->executor, impl_->dispatcher.variables().ChangeLearningRate(
                                   variables, rate)));
}

Tensor ClusterCoordinator::Read(const std::string& variable,
                                std::chrono::nanoseconds timeout) {
  return std::move(ReadAll({variable}, timeout).front());
}

std::vector<Tensor> ClusterCoordinator::ReadAll(
    const std::vector<std::string>& variables,
    std::chrono::nanoseconds timeout) {
  return ValueOrThrow(RunOn(
      impl_->executor, impl_->dispatcher.variables().Read(variables, timeout)));
}

Tensor ClusterCoordinator::ReadRows(const std::string& variable,
                                    std::span<const int64_t> ids,
                                    std::chrono::nanoseconds timeout) {
  std::vector<int64_t> copy(ids.begin(), ids.end());
  return ValueOrThrow(
      RunOn(impl_->executor, impl_->dispatcher.variables().ReadRows(
                                 variable, std::move(copy), timeout)));
}

bool ClusterCoordinator::attached() {
  const std::lock_guard lock(impl_->changing);
  JobVariables& variables = impl_->dispatcher.variables();
  Throw(RunOn(impl_->executor, variables.Begin()));
  impl_->begun = true;
  return variables.attached();
}

std::optional<std::string> ClusterCoordinator::Record(
    const std::string& key) const {
  return impl_->dispatcher.variables().records().Find(key);
}

void ClusterCoordinator::SetRecord(const std::string& key,
                                   const std::string& text) {
  if (key == kStepKeysPart) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("the record name '", key, "' is reserved"));
  }
  if (key.empty() || key.size() > 256 || text.size() > kMostRecordText) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("a record of ", text.size(), " bytes under '",
                             key.substr(0, 256),
                             "': the key must be 1 to 256 "
                             "bytes, and the text at most ",
                             kMostRecordText));
  }
  RecordKeeper& records = impl_->dispatcher.variables().records();
  if (!IsUtf8(key) || !IsUtf8(text)) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("the record under '", absl::CHexEscape(key),
                             "' is not UTF-8: it is kept as text"));
  }
  const std::map<std::string, PartText> added = {{key, PartText(text)}};
  Throw(WithContext(records.CheckRoom(added, kMostRecords),
                    absl::StrCat("the record under '", key, "'")));
  records.Set(key, text);
}

std::optional<Error> ClusterCoordinator::LostServer() const {
  const auto ask = [](Dispatcher& dispatcher) -> Task<absl::Status> {
    co_return dispatcher.LostServer();
  };
  const absl::Status lost = RunOn(impl_->executor, ask(impl_->dispatcher));
  if (lost.ok()) return std::nullopt;
  return ToError(lost);
}

std::vector<std::string> ClusterCoordinator::ReturnedServers() const {
  const auto ask =
      [](Dispatcher& dispatcher) -> Task<std::vector<std::string>> {
    co_return dispatcher.ReturnedServers();
  };
  return RunOn(impl_->executor, ask(impl_->dispatcher));
}

std::vector<std::string> ClusterCoordinator::Recover(
    const RecoverOptions& options) {
  if (options.timeout < Duration::zero()) {
    throw Error(ErrorCode::kInvalidArgument,
                "the timeout of Recover must not be negative");
  }
  const std::lock_guard lock(impl_->changing);
  return ValueOrThrow(
      RunOn(impl_->executor,
            impl_->dispatcher.Recover(options.timeout, options.go_on_without)));
}

UpdateResult ClusterCoordinator::Apply(
    Operation operation, const std::vector<VariableUpdate>& updates) {
  // Not while the snapshot of a checkpoint is being taken.
  const std::shared_lock lock(impl_->applying);
  return ValueOrThrow(
      RunOn(impl_->executor, impl_->dispatcher.Apply(operation, updates)));
}

std::shared_ptr<RemoteValueBase::State> ClusterCoordinator::ScheduleCall(
    std::shared_ptr<const FunctionInfo> function, ScheduledCall call) {
  auto state = std::make_shared<RemoteValueBase::State>();
  state->queue = impl_->dispatcher.shared_queue();
  state->closure = std::make_shared<Closure>();
  Closure& closure = *state->closure;
  closure.function = std::move(function);
  closure.arguments = call.writer.Take();
  closure.resources = std::move(call.resources);
  closure.tickets = std::move(call.tickets);
  closure.step = call.step;
  closure.wanted = state;
  if (call.key) {
    closure.key = call.key->value;
    ThrowFailure(*impl_, PutWithKey(*impl_, state->closure));
  } else {
    ThrowFailure(*impl_, state->queue->Put(state->closure));
  }
  return state;
}

bool ClusterCoordinator::IsComplete(StepKey key) {
  if (!impl_->begun) attached();
  return ValueOrThrow(impl_->dispatcher.queue().IsComplete(key.value));
}

StepKey ClusterCoordinator::FirstIncomplete() {
  if (!impl_->begun) attached();
  return {ValueOrThrow(impl_->dispatcher.queue().FirstIncomplete())};
}

void ClusterCoordinator::Skip(StepKey key) {
  if (!impl_->begun) attached();
  Throw(impl_->dispatcher.queue().SkipKey(key.value));
}

void ClusterCoordinator::Join(std::chrono::nanoseconds timeout) {
  absl::Status status = impl_->dispatcher.queue().Join(timeout);
  if (absl::IsDeadlineExceeded(status)) {
    const auto ask = [](Dispatcher& dispatcher) -> Task<std::string> {
      co_return dispatcher.Obstacle();
    };
    const std::string obstacle = RunOn(impl_->executor, ask(impl_->dispatcher));
    if (!obstacle.empty()) {
      status = absl::DeadlineExceededError(
          absl::StrCat(std::string(status.message()), "; ", obstacle));
    }
  }
  ThrowFailure(*impl_, status);
}

bool ClusterCoordinator::Done() {
  const absl::StatusOr<bool> done = impl_->dispatcher.queue().Done();
  ThrowFailure(*impl_, done.status());
  return *done;
}

std::vector<Error> ClusterCoordinator::LastErrors() const {
  std::vector<Error> errors;
  for (const absl::Status& status : impl_->dispatcher.queue().LastErrors()) {
    errors.push_back(ToError(status));
  }
  return errors;
}

std::shared_ptr<const uint64_t> ClusterCoordinator::AddResource(
    std::shared_ptr<const ResourceInfo> info) {
  return impl_->dispatcher.resources().Add(std::move(info));
}

std::vector<uint64_t> ClusterCoordinator::Staleness() const {
  return ValueOrThrow(
      RunOn(impl_->executor, impl_->dispatcher.variables().Staleness()));
}

std::string ClusterCoordinator::Metrics() const {
  return impl_->dispatcher.metrics().ToText();
}

CoordinatorStatus ClusterCoordinator::Status() const {
  const auto ask = [](Dispatcher& dispatcher) -> Task<DispatchReport> {
    co_return dispatcher.Report();
  };
  const DispatchReport report = RunOn(impl_->executor, ask(impl_->dispatcher));
  CoordinatorStatus status;
  status.queued = report.queued;
  status.in_flight = report.in_flight;
  status.finished = report.finished;
  status.failed = report.failed;
  status.cancelled = report.cancelled;
  status.retries =
      report.lost_retries + report.server_retries + report.leaving_retries;
  status.per_second = report.per_second;
  status.workers = static_cast<int>(report.workers.size());
  status.ready_workers = static_cast<int>(std::count_if(
      report.workers.begin(), report.workers.end(),
      [](const LinkReport& link) { return link.state == LinkState::kReady; }));
  return status;
}

std::shared_ptr<CoordinatorMaker::Impl> CoordinatorMaker::ImplOf(
    const ClusterCoordinator& coordinator) {
  return coordinator.impl_;
}

}  // namespace capstan
