#include "worker/worker_service.h"

#include <deque>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/event.h"
#include "base/error.h"
#include "base/status.h"

namespace capstan {
namespace {

// The most tensors of one closure; more is an error.
constexpr size_t kMostTensors = 1 << 16;
// The most cancellations kept for closures that have not arrived yet.
constexpr size_t kMostEarly = 1 << 16;

ServerReply ErrorReply(absl::Status status) {
  ServerReply reply;
  reply.status = std::move(status);
  return reply;
}

// The tensors of the arguments, as bytes: the value has their types.
Task<absl::StatusOr<std::vector<Tensor>>> ReceiveTensors(ServerCall& call) {
  std::vector<Tensor> tensors;
  const std::span<const uint64_t> sizes = call.attachment_sizes();
  if (sizes.size() > kMostTensors) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("a closure with ", sizes.size(), " tensors"));
  }
  for (const uint64_t size : sizes) {
    absl::Status allocated;
    try {
      tensors.push_back(
          Tensor::Uninitialized(DType::kU8, {static_cast<int64_t>(size)}));
    } catch (...) {
      allocated = StatusOfCurrentException();
    }
    if (!allocated.ok()) co_return allocated;
    const MutableBytes into = tensors.back().mutable_view().mutable_bytes();
    const absl::Status received = co_await call.Receive(into);
    if (!received.ok()) co_return received;
  }
  co_return tensors;
}

// The reply; it owns the value until it has been sent.
ServerReply ValueReply(RunReply reply, EncodedValue value) {
  const auto owner = std::make_shared<const EncodedValue>(std::move(value));
  PackedValue packed = PackValue(*owner);
  reply.value = std::move(packed.in_body);
  reply.attached = packed.attached;
  ServerReply answer;
  answer.body = EncodeRunReply(reply);
  answer.attachments = std::move(packed.attachments);
  answer.owner = owner;
  return answer;
}

}  // namespace

// Shared with the calls in flight.
class WorkerService::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Clock& clock, Logger logger, const Executor& executor,
       ParameterClient& client, Runner& runner, WorkerServiceOptions options)
      : clock_(clock),
        logger_(std::move(logger)),
        executor_(executor),
        client_(client),
        runner_(runner),
        options_(std::move(options)) {}

  ServerReply Attach(const ServerCall& call);
  Task<ServerReply> Run(ServerCall& call);
  ServerReply Cancel(const ServerCall& call);
  Task<ServerReply> Make(ServerCall& call);
  ServerReply Drop(const ServerCall& call);
  void Leave();
  WorkerReport Report() const;

 private:
  // A closure that this worker has.
  struct Entry {
    Entry(Clock& clock, const Executor& executor, ParameterClient& client,
          const UpdateId& id, const FunctionInfo& function)
        : step(clock, client, id, function), turn(executor) {}
    void Cancel() {
      step.Cancel();
      turn.Set();
    }
    Step step;
    Event turn;            // set when it may run or is cancelled
    bool granted = false;  // it may run
  };
  using Made = absl::StatusOr<std::shared_ptr<void>>;
  struct ResourceHere {
    Made made;
    InputContext input;  // used to make it
  };

  absl::Status CheckSession(uint64_t session) const;
  void CancelAll();
  // Waits for a slot to run in; false if cancelled first.
  Task<bool> Enter(std::shared_ptr<Entry> entry);
  void Exit();
  Task<ServerReply> RunEntry(std::shared_ptr<Entry> entry, uint32_t function,
                             EncodedValue arguments, bool want_value);
  std::shared_ptr<void> FindResource(uint64_t id) const;

  Clock& clock_;
  const Logger logger_;
  const Executor executor_;
  ParameterClient& client_;
  Runner& runner_;
  const WorkerServiceOptions options_;

  CoordinatorTerm coordinator_term_;
  uint64_t session_ = 0;
  bool leaving_ = false;
  // From this session and earlier ones, whose closures are ending.
  std::multimap<uint64_t, std::shared_ptr<Entry>> entries_;  // by step
  // Steps of this session that were cancelled before they arrived, because
  // small requests overtake large ones.
  std::set<uint64_t> early_;
  uint32_t running_ = 0;
  std::deque<std::shared_ptr<Entry>> waiting_;
  // Functions look resources up on compute threads, so they need a map that
  // does not change; changes replace it.
  using Resources = std::map<uint64_t, ResourceHere>;
  std::shared_ptr<const Resources> resources_ =
      std::make_shared<const Resources>();
  uint64_t finished_ = 0;
  uint64_t failed_ = 0;
  uint64_t cancelled_ = 0;
};

absl::Status WorkerService::Core::CheckSession(uint64_t session) const {
  if (session == session_ && session != 0) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("session ", session, " with ", options_.task,
                   " is over; the current one is ", session_));
}

ServerReply WorkerService::Core::Attach(const ServerCall& call) {
  const absl::StatusOr<AttachRequest> request =
      DecodeAttachRequest(call.body());
  if (!request.ok()) return ErrorReply(request.status());
  const CoordinatorTerm& coordinator_term = request->coordinator_term;
  const bool same = coordinator_term == coordinator_term_;
  if (!same && coordinator_term.term <= coordinator_term_.term) {
    return ErrorReply(absl::AbortedError(absl::StrCat(
        options_.task, " obeys the coordinator of term ",
        coordinator_term_.term, ", not that of term ", coordinator_term.term)));
  }
  if (same && request->session <= session_) {
    return ErrorReply(CheckSession(request->session));
  }
  if (leaving_) {
    return ErrorReply(
        absl::UnavailableError(absl::StrCat(options_.task, " leaves the job")));
  }
  CancelAll();
  // Resources of another coordinator are of no use to this one.
  if (!same) resources_ = std::make_shared<const Resources>();
  coordinator_term_ = coordinator_term;
  session_ = request->session;
  early_.clear();
  AttachReply reply;
  reply.incarnation = options_.incarnation;
  reply.concurrency = runner_.concurrency();
  reply.functions = runner_.functions();
  reply.resources = runner_.resources();
  for (const auto& [id, resource] : *resources_) {
    if (resource.made.ok()) reply.made.push_back(id);
  }
  ServerReply answer;
  answer.body = EncodeAttachReply(reply);
  return answer;
}

void WorkerService::Core::CancelAll() {
  // A cancelled entry may remove itself from the map.
  const auto entries = entries_;
  for (const auto& [step, entry] : entries) entry->Cancel();
}

Task<ServerReply> WorkerService::Core::Run(ServerCall& call) {
  const std::shared_ptr<Core> self = shared_from_this();
  absl::StatusOr<RunRequest> request = DecodeRunRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  if (!CheckSession(request->session).ok()) {
    co_return ErrorReply(CheckSession(request->session));
  }
  if (request->function >= runner_.functions().size()) {
    co_return ErrorReply(absl::InvalidArgumentError(
        absl::StrCat(options_.task, " has ", runner_.functions().size(),
                     " functions, none with number ", request->function)));
  }
  absl::StatusOr<std::vector<Tensor>> tensors = co_await ReceiveTensors(call);
  if (!tensors.ok()) co_return ErrorReply(tensors.status());
  // Another session may have begun while they arrived.
  if (!CheckSession(request->session).ok()) {
    co_return ErrorReply(CheckSession(request->session));
  }
  if (leaving_) {
    RunReply turned_away;
    turned_away.end = RunEnd::kLeaving;
    co_return ValueReply(std::move(turned_away), EncodedValue());
  }
  absl::StatusOr<EncodedValue> arguments = UnpackValue(
      std::move(request->arguments), request->attached, *std::move(tensors));
  if (!arguments.ok()) co_return ErrorReply(arguments.status());
  const FunctionInfo& function = runner_.functions()[request->function];
  const auto entry = std::make_shared<Entry>(clock_, executor_, client_,
                                             request->id, function);
  const auto place = entries_.emplace(request->id.step, entry);
  if (early_.erase(request->id.step) > 0) entry->Cancel();
  // Nobody waits for a closure whose coordinator is lost or has given it up.
  std::function<void()> cancel = [entry] { entry->Cancel(); };
  call.OnCancel(std::move(cancel));
  const uint32_t index = request->function;
  const bool want_value = request->want_value;
  EncodedValue given = *std::move(arguments);
  ServerReply reply =
      co_await RunEntry(entry, index, std::move(given), want_value);
  entries_.erase(place);
  co_return reply;
}

Task<ServerReply> WorkerService::Core::RunEntry(std::shared_ptr<Entry> entry,
                                                uint32_t function,
                                                EncodedValue arguments,
                                                bool want_value) {
  RunReply reply;
  const bool entered = co_await Enter(entry);
  if (!entered || entry->step.cancelled()) {
    if (entered) Exit();
    ++cancelled_;
    reply.end = leaving_ ? RunEnd::kLeaving : RunEnd::kCancelled;
    co_return ValueReply(std::move(reply), EncodedValue());
  }
  entry->step.Start();
  const MonotonicTime begin = clock_.Now();
  const std::shared_ptr<const Resources> resources = resources_;
  const ResourceFinder finder = [this, resources](uint64_t id) {
    const auto found = resources->find(id);
    if (found == resources->end()) {
      throw Error(ErrorCode::kInternal,
                  absl::StrCat(options_.task, " was never told to make ", id));
    }
    return ValueOrThrow(found->second.made);
  };
  absl::StatusOr<EncodedValue> value =
      co_await runner_.Run(function, entry->step, arguments, finder);
  reply.run_ns = static_cast<uint64_t>((clock_.Now() - begin).count());
  Exit();
  if (value.ok()) {
    ++finished_;
    if (!want_value) *value = EncodedValue();
    co_return ValueReply(std::move(reply), *std::move(value));
  }
  // A closure that fails of its own accord keeps its error, even if it was
  // cancelled; but a worker that is leaving has it run again elsewhere.
  if (entry->step.cancelled() &&
      (leaving_ || absl::IsCancelled(value.status()))) {
    ++cancelled_;
    reply.end = leaving_ ? RunEnd::kLeaving : RunEnd::kCancelled;
  } else {
    ++failed_;
    reply.end = RunEnd::kFailed;
    reply.error = value.status();
  }
  co_return ValueReply(std::move(reply), EncodedValue());
}

Task<bool> WorkerService::Core::Enter(std::shared_ptr<Entry> entry) {
  if (running_ < runner_.concurrency()) {
    ++running_;
    co_return true;
  }
  waiting_.push_back(entry);
  co_await entry->turn.Wait();
  if (entry->granted) co_return true;
  std::erase(waiting_, entry);
  co_return false;
}

void WorkerService::Core::Exit() {
  if (waiting_.empty()) {
    --running_;
    return;
  }
  // The slot goes to the next entry, even if cancelled: it will pass the slot
  // on.
  const std::shared_ptr<Entry> next = std::move(waiting_.front());
  waiting_.pop_front();
  next->granted = true;
  next->turn.Set();
}

ServerReply WorkerService::Core::Cancel(const ServerCall& call) {
  const absl::StatusOr<CancelRequest> request =
      DecodeCancelRequest(call.body());
  if (!request.ok()) return ErrorReply(request.status());
  absl::Status session = CheckSession(request->session);
  if (!session.ok()) return ErrorReply(std::move(session));
  for (const uint64_t step : request->steps) {
    const auto [begin, end] = entries_.equal_range(step);
    if (begin == end && early_.size() < kMostEarly) early_.insert(step);
    const std::multimap<uint64_t, std::shared_ptr<Entry>> found(begin, end);
    for (const auto& [number, entry] : found) {
      if (request->unless_started && entry->step.started()) continue;
      entry->Cancel();
    }
  }
  return ServerReply();
}

Task<ServerReply> WorkerService::Core::Make(ServerCall& call) {
  const std::shared_ptr<Core> self = shared_from_this();
  const absl::StatusOr<MakeRequest> request = DecodeMakeRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  if (!CheckSession(request->session).ok()) {
    co_return ErrorReply(CheckSession(request->session));
  }
  if (request->resource >= runner_.resources().size()) {
    co_return ErrorReply(absl::InvalidArgumentError(
        absl::StrCat(options_.task, " has ", runner_.resources().size(),
                     " resources, none with number ", request->resource)));
  }
  const auto known = resources_->find(request->id);
  const InputContext input = request->input;
  Made made = absl::UnknownError("not made");
  if (known != resources_->end() && known->second.made.ok() &&
      known->second.input == input) {
    made = known->second.made;
  } else {
    const uint32_t index = request->resource;
    made = co_await runner_.Make(index, input);
    const std::string& name = runner_.resources()[index].name;
    if (!made.ok()) {
      made = WithTask(
          WithContext(made.status(),
                      absl::StrCat("resource '", name, "' of ", options_.task)),
          options_.task);
    }
    // The resource belongs to a coordinator that may have been replaced
    // meanwhile.
    if (!CheckSession(request->session).ok()) {
      co_return ErrorReply(CheckSession(request->session));
    }
    auto next = std::make_shared<Resources>(*resources_);
    next->insert_or_assign(request->id, ResourceHere{made, input});
    resources_ = std::move(next);
  }
  RunReply reply;
  if (!made.ok()) {
    reply.end = RunEnd::kFailed;
    reply.error = made.status();
  }
  co_return ValueReply(std::move(reply), EncodedValue());
}

ServerReply WorkerService::Core::Drop(const ServerCall& call) {
  const absl::StatusOr<DropRequest> request = DecodeDropRequest(call.body());
  if (!request.ok()) return ErrorReply(request.status());
  absl::Status session = CheckSession(request->session);
  if (!session.ok()) return ErrorReply(std::move(session));
  auto next = std::make_shared<Resources>(*resources_);
  for (const uint64_t id : request->ids) next->erase(id);
  resources_ = std::move(next);
  return ServerReply();
}

void WorkerService::Core::Leave() {
  leaving_ = true;
  CancelAll();
}

WorkerReport WorkerService::Core::Report() const {
  WorkerReport report;
  for (const auto& [step, entry] : entries_) {
    report.running.push_back(entry->step.Report());
  }
  report.finished = finished_;
  report.failed = failed_;
  report.cancelled = cancelled_;
  return report;
}

WorkerService::WorkerService(Clock& clock, Logger logger,
                             const Executor& executor, ParameterClient& client,
                             Runner& runner, WorkerServiceOptions options,
                             Service& next)
    : core_(std::make_shared<Core>(clock, std::move(logger), executor, client,
                                   runner, std::move(options))),
      next_(next) {}

WorkerService::~WorkerService() = default;

Task<ServerReply> WorkerService::Serve(ServerCall& call) {
  switch (call.method()) {
    case Method::kWorkerRun:
      return core_->Run(call);
    case Method::kWorkerMake:
      return core_->Make(call);
    case Method::kWorkerAttach:
    case Method::kWorkerCancel:
    case Method::kWorkerDrop:
    case Method::kWorkerStatus:
      return Answer(call);
    default:
      return next_.Serve(call);
  }
}

Task<ServerReply> WorkerService::Answer(ServerCall& call) {
  if (call.method() == Method::kWorkerAttach) co_return core_->Attach(call);
  if (call.method() == Method::kWorkerCancel) co_return core_->Cancel(call);
  if (call.method() == Method::kWorkerDrop) co_return core_->Drop(call);
  ServerReply reply;
  reply.body = EncodeWorkerReport(core_->Report());
  co_return reply;
}

void WorkerService::Leave() { core_->Leave(); }

WorkerReport WorkerService::Report() const { return core_->Report(); }

}  // namespace capstan
