#include "simulate/closure_chief.h"

#include <algorithm>
#include <asio/post.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/event.h"
#include "base/status.h"
#include "capstan/dataset.h"
#include "capstan/partitioner.h"
#include "coordinator/dispatcher.h"
#include "simulate/faulty_closures.h"
#include "simulate/late_channel.h"

namespace capstan::simulate {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(20);
// How long nothing may change after the end.
constexpr Duration kRest = std::chrono::seconds(2);
// Above all sessions, of a coordinator that never changes.
constexpr Office kOffice = {.term = 1, .holder = 1};

DispatcherOptions OptionsOf(const ClosureOptions& options, Event& changed) {
  DispatcherOptions dispatcher;
  dispatcher.queue_capacity = static_cast<size_t>(options.queue);
  dispatcher.poison_limit = static_cast<size_t>(options.poison_limit);
  dispatcher.queued_per_worker =
      static_cast<uint32_t>(options.queued_per_worker);
  dispatcher.on_change = [&changed] { changed.Set(); };
  return dispatcher;
}

DataRangesOptions RangesOf(const ClosureOptions& options, Random random) {
  DataRangesOptions ranges;
  ranges.batch = options.batch;
  // The last is shorter than the others.
  ranges.examples = int64_t{options.batch} * options.ranges - 1;
  ranges.shuffle = random.Chance(0.5);
  ranges.seed = random.NextU64();
  return ranges;
}

void TellOfServer(ClosureContext& context, TaskState state) {
  TaskEntry entry;
  entry.task = "ps/0";
  entry.address = ClosureServerAddress(0);
  entry.state = state;
  entry.report.incarnation = 1;
  if (context.on_task) context.on_task(entry);
}

class ClosureChief {
 public:
  ClosureChief(ClosureContext& context, SimNode& node)
      : context_(context),
        options_(context.options),
        node_(node),
        random_(node.NewRandom("chief")),
        timer_(node.clock().NewTimer(node.executor())),
        changed_(node.executor()),
        client_(NewClosureClient(context, node, "chief", 0)),
        ranges_(RangesOf(options_, node.NewRandom("ranges"))) {
    const auto memory = NewRetryMemory();
    dispatcher_ = std::make_shared<Dispatcher>(
        node.clock(), node.logger(), node.executor(), [] { return kOffice; },
        *client_,
        [&context, &node, memory](const std::string& task,
                                  const std::string& address) {
          std::unique_ptr<Channel> channel =
              NewClosureChannel(node, "chief", 0, task, address);
          channel = NewLateChannel(std::move(channel), context, node, task);
          return NewFaultyWorkerChannel(std::move(channel), context.plant,
                                        memory);
        },
        node.NewRandom("dispatcher"), OptionsOf(options_, changed_));
    context_.on_task = [weak = std::weak_ptr<Dispatcher>(dispatcher_),
                        executor = node.executor()](const TaskEntry& entry) {
      asio::post(executor, [weak, entry] {
        const std::shared_ptr<Dispatcher> dispatcher = weak.lock();
        if (dispatcher != nullptr) dispatcher->OnTask(entry);
      });
    };
  }
  ~ClosureChief() { context_.on_task = nullptr; }
  ClosureChief(const ClosureChief&) = delete;
  ClosureChief& operator=(const ClosureChief&) = delete;

  Task<> Run() {
    dispatcher_->Start();
    co_await CreateVariables();
    ScheduleScare();
    uint64_t epochs = 0;
    while (!context_.finishing && HasRoom() &&
           epochs < static_cast<uint64_t>(options_.epochs)) {
      co_await RunEpoch();
      ++epochs;
    }
    while (!context_.finishing && options_.min_busy == 0) co_await Sleep(kTick);
    co_await End(epochs);
    context_.over = true;
  }

 private:
  ClosureQueue& queue() { return dispatcher_->queue(); }
  MonotonicTime Now() { return node_.clock().Now(); }

  Task<> Sleep(Duration most) {
    const MonotonicTime until =
        Now() + Duration(random_.Between(0, most.count()));
    co_await timer_->SleepUntil(until);
  }

  // Whoever was to be called has been, after it.
  Task<> Rest(Duration duration) {
    const MonotonicTime until = Now() + duration;
    co_await timer_->SleepUntil(until);
  }

  size_t Room() const {
    return static_cast<size_t>(options_.closures) -
           context_.judge.num_closures();
  }
  // For another epoch; and for what goes wrong in it.
  bool HasRoom() const {
    return Room() > 2 * static_cast<size_t>(options_.ranges);
  }
  bool MayGoWrong() const {
    return !context_.finishing &&
           Room() > 4 * static_cast<size_t>(options_.ranges);
  }

  Task<> CreateVariables() {
    context_.progress = "the variables are not made";
    absl::Status status = absl::UnknownError("");
    while (!status.ok()) {
      std::vector<VariableSpec> specs = context_.variables.Specs();
      Partitioner partitioner =
          FixedShards(static_cast<int64_t>(context_.variables.shards()));
      status = co_await dispatcher_->variables().Create(std::move(specs),
                                                        std::move(partitioner));
      if (!status.ok()) co_await Sleep(kTick);
    }
  }

  // Some time from now the roster says that a server is lost, and then that it
  // is back.
  void ScheduleScare() {
    if (options_.server_scares == Duration::zero()) return;
    Random& random = context_.random;
    const Duration wait(random.Between(1, 2 * options_.server_scares.count()));
    const Duration lasts(random.Between(1, options_.scare.count()));
    ClosureContext& context = context_;
    SimClock& clock = context.world.clock();
    clock.ScheduleAfter(wait, [&context] {
      if (context.finishing) return;
      context.judge.OnServerScare();
      TellOfServer(context, TaskState::kUnreachable);
    });
    clock.ScheduleAfter(wait + lasts, [this, &context] {
      TellOfServer(context, TaskState::kHealthy);
      if (!context.finishing) ScheduleScare();
    });
  }

  Task<> RunEpoch() {
    while (true) {
      std::optional<DataTicket> ticket = ranges_.Next();
      if (!ticket) break;
      DataTicket taken = *std::move(ticket);
      co_await Schedule(std::move(taken));
      if (options_.every > Duration::zero()) co_await Sleep(options_.every);
      if (random_.Chance(options_.evaluations)) co_await Evaluate();
      if (random_.Chance(options_.cancels) && MayGoWrong()) CancelOne();
      if (random_.Chance(options_.joins)) co_await Join();
    }
    co_await Join();
  }

  ClosureKind DrawKind() {
    const bool fails = random_.Chance(options_.failures);
    const bool poison = random_.Chance(options_.poisons);
    const bool late = random_.Chance(0.5);
    if (!MayGoWrong()) return ClosureKind::kStep;
    if (poison) return ClosureKind::kPoison;
    if (!fails) return ClosureKind::kStep;
    return late ? ClosureKind::kFailLate : ClosureKind::kFailEarly;
  }

  Task<> Schedule(DataTicket ticket) {
    const ClosureKind kind = DrawKind();
    const bool wanted = !random_.Chance(options_.unwanted);
    const ClosureQueue::ClosurePtr closure =
        context_.judge.NewClosure(kind, ticket.range(), wanted);
    closure->tickets.push_back(std::move(ticket));
    co_await Put(closure);
  }

  Task<> Evaluate() {
    if (!MayGoWrong()) co_return;
    const DataRange none;
    const ClosureQueue::ClosurePtr closure =
        context_.judge.NewClosure(ClosureKind::kEvaluate, none, true);
    co_await Put(closure);
  }

  Task<> Put(ClosureQueue::ClosurePtr closure) {
    const size_t number = context_.judge.num_closures() - 1;
    context_.progress = absl::StrCat("closure ", number, " finds no place");
    absl::StatusOr<bool> put = queue().TryPut(closure);
    while (put.ok() && !*put) {
      co_await changed_.Wait();
      put = queue().TryPut(closure);
    }
    if (!put.ok()) {
      context_.judge.OnRefused(number);
      // Its range goes back.
      closure->tickets.clear();
      absl::Status status = put.status();
      co_await AfterError(std::move(status));
      co_return;
    }
    context_.world.trace().Add(Now(), node_.name(), "put", number,
                               closure->step);
    context_.judge.OnPut(number);
    ClosureContext& context = context_;
    queue().Then(*closure, [&context, number, closure, &node = node_] {
      context.world.trace().Add(node.clock().Now(), node.name(), "ended",
                                number,
                                static_cast<uint64_t>(closure->status.code()));
      context.judge.OnEnded(number);
    });
  }

  Task<> AfterError(absl::Status status) {
    context_.world.trace().Add(Now(), node_.name(), "error",
                               static_cast<uint64_t>(status.code()));
    context_.judge.OnError(status, queue());
    // A program that is told of a lost server does not ask again at once.
    co_await Sleep(kTick);
  }

  void CancelOne() {
    const ClosureQueue::ClosurePtr closure =
        context_.judge.ChooseToCancel(random_);
    if (closure == nullptr) return;
    context_.world.trace().Add(Now(), node_.name(), "cancel", closure->step);
    queue().Cancel(*closure);
  }

  // True if all was well.
  Task<bool> Join() {
    const uint64_t last = queue().last_step();
    context_.progress = absl::StrCat("Join does not return, for step ", last);
    std::optional<absl::Status> status = queue().TryJoin(last);
    while (!status) {
      co_await changed_.Wait();
      status = queue().TryJoin(last);
    }
    if (!status->ok()) {
      absl::Status error = *std::move(status);
      co_await AfterError(std::move(error));
      co_return false;
    }
    context_.world.trace().Add(Now(), node_.name(), "joined", last);
    context_.judge.OnJoined();
    // What the program reads now has it all.
    if (random_.Chance(0.3)) co_await ReadTable(0, false);
    co_return true;
  }

  Task<> ReadTable(size_t table, bool final) {
    std::vector<std::string> names;
    for (const auto variable : {DigitVariable::kDense, DigitVariable::kRows}) {
      names.push_back(context_.variables.NameOf(variable, table));
    }
    absl::StatusOr<std::vector<Tensor>> tensors = absl::UnknownError("");
    while (!tensors.ok()) {
      const ClosureJudge::View view = context_.judge.OnReadBegin(table);
      std::vector<std::string> copy = names;
      tensors = co_await dispatcher_->variables().Read(std::move(copy));
      if (!tensors.ok()) {
        co_await Sleep(kTick);
        continue;
      }
      for (size_t i = 0; i < tensors->size(); ++i) {
        const auto variable = static_cast<DigitVariable>(i);
        const std::span<const float> values = (*tensors)[i].Values<float>();
        context_.judge.OnRead(view, table, variable, values, std::nullopt);
        if (final) context_.judge.OnFinal(table, variable, values);
      }
    }
  }

  // Ranges that came back late are handed out before those of a new epoch.
  Task<> UseTheRest(uint64_t epochs) {
    while (!context_.judge.AllUsed(epochs)) {
      std::optional<DataTicket> ticket = ranges_.Next();
      if (!ticket || ticket->range().epoch >= epochs) {
        context_.judge.Violation(absl::StrCat(
            "after ", epochs, " epochs some data was not used, and is not ",
            "handed out again"));
        co_return;
      }
      DataTicket taken = *std::move(ticket);
      co_await Schedule(std::move(taken));
      co_await Join();
      co_await Rest(kTick);
    }
  }

  Task<> AwaitWatermark() {
    const uint64_t last = queue().last_step();
    for (uint32_t i = 0; i < client_->num_servers(); ++i) {
      context_.progress = absl::StrCat("the watermark of server ", i,
                                       " does not reach step ", last);
      uint64_t watermark = 0;
      while (watermark < last) {
        const absl::StatusOr<StoreReport> report = co_await client_->Status(i);
        if (report.ok()) watermark = report->watermark;
        if (watermark < last) co_await Sleep(kTick);
      }
      if (watermark > last) {
        context_.judge.Violation(
            absl::StrCat("the watermark of server ", i, " is ", watermark,
                         ", but there are only ", last, " steps"));
      }
    }
  }

  Task<> End(uint64_t epochs) {
    bool joined = false;
    while (!joined) joined = co_await Join();
    co_await Rest(kTick);
    co_await UseTheRest(epochs);
    co_await AwaitWatermark();
    context_.progress = "what there is cannot be read";
    // What comes now changes nothing any more.
    for (size_t i = 0; i < context_.variables.tables(); ++i) {
      co_await ReadTable(i, true);
    }
    // Where nothing goes wrong nothing can come late, and it would take long.
    if (options_.min_busy == 0) {
      co_await Rest(kRest);
      for (size_t i = 0; i < context_.variables.tables(); ++i) {
        co_await ReadTable(i, true);
      }
    }
    context_.judge.OnEnd();
    context_.progress = "the dispatcher does not stop";
    co_await dispatcher_->Stop();
  }

  ClosureContext& context_;
  const ClosureOptions& options_;
  SimNode& node_;
  Random random_;
  const std::unique_ptr<Timer> timer_;
  Event changed_;
  const std::unique_ptr<ParameterClient> client_;
  DataRanges ranges_;
  std::shared_ptr<Dispatcher> dispatcher_;
};

}  // namespace

Task<> RunClosureChief(ClosureContext& context, SimNode& node) {
  ClosureChief chief(context, node);
  co_await chief.Run();
}

}  // namespace capstan::simulate
