#include "simulate/closures/closure_chief.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "capstan/dataset.h"
#include "simulate/closures/closure_node.h"

namespace capstan::simulate {
namespace {

DataRangesOptions RangesOf(const ClosureOptions& options, Random random) {
  DataRangesOptions ranges;
  ranges.batch = options.batch;
  // The last range is shorter than the others.
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
        closure_node_(context, node),
        random_(closure_node_.random()),
        ranges_(RangesOf(options_, node.NewRandom("ranges"))) {}
  ClosureChief(const ClosureChief&) = delete;
  ClosureChief& operator=(const ClosureChief&) = delete;

  Task<> Run() {
    closure_node_.dispatcher().Start();
    co_await closure_node_.CreateVariables();
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
  ClosureQueue& queue() { return closure_node_.queue(); }
  MonotonicTime Now() { return node_.clock().Now(); }
  Task<> Sleep(Duration most) { return closure_node_.Sleep(most); }

  size_t Room() const {
    return static_cast<size_t>(options_.closures) -
           context_.judge.num_closures();
  }
  // Whether closures are left for another epoch, including what goes wrong in
  // it.
  bool HasRoom() const {
    return Room() > 2 * static_cast<size_t>(options_.ranges);
  }
  bool MayGoWrong() const {
    return !context_.finishing &&
           Room() > 4 * static_cast<size_t>(options_.ranges);
  }

  // After some time the roster reports that a server is lost, and later that it
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

  absl::StatusOr<bool> TryPut(const ClosureQueue::ClosurePtr& closure) {
    context_.judge.OnCall(queue());
    return queue().TryPut(closure);
  }
  std::optional<absl::Status> TryJoin(uint64_t last) {
    context_.judge.OnCall(queue());
    return queue().TryJoin(last);
  }

  Task<> Put(ClosureQueue::ClosurePtr closure) {
    const size_t number = context_.judge.num_closures() - 1;
    context_.progress = absl::StrCat("closure ", number, " finds no place");
    absl::StatusOr<bool> put = TryPut(closure);
    while (put.ok() && !*put) {
      co_await closure_node_.Change();
      put = TryPut(closure);
    }
    if (!put.ok()) {
      context_.judge.OnRefused(number);
      // Its range is returned.
      closure->tickets.clear();
      absl::Status status = put.status();
      co_await AfterError(std::move(status));
      co_return;
    }
    closure_node_.OnPut(number, closure);
  }

  Task<> AfterError(absl::Status status) {
    context_.world.trace().Add(Now(), node_.name(), "error",
                               static_cast<uint64_t>(status.code()));
    context_.judge.OnError(status, queue());
    // A program that was told of a lost server does not retry immediately.
    co_await Sleep(kTick);
  }

  void CancelOne() {
    const ClosureQueue::ClosurePtr closure =
        context_.judge.ChooseToCancel(random_);
    if (closure == nullptr) return;
    context_.world.trace().Add(Now(), node_.name(), "cancel", closure->step);
    queue().Cancel(*closure);
  }

  // True if nothing failed.
  Task<bool> Join() {
    const uint64_t last = queue().last_put();
    context_.progress = absl::StrCat("Join does not return, for step ", last);
    std::optional<absl::Status> status = TryJoin(last);
    while (!status) {
      co_await closure_node_.Change();
      status = TryJoin(last);
    }
    if (!status->ok()) {
      absl::Status error = *std::move(status);
      co_await AfterError(std::move(error));
      co_return false;
    }
    context_.world.trace().Add(Now(), node_.name(), "joined", last);
    context_.judge.OnJoined();
    // What the program reads now includes all steps.
    if (random_.Chance(0.3)) co_await closure_node_.ReadTable(0, false);
    co_return true;
  }

  // Ranges returned late are handed out before those of a new epoch.
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
      co_await closure_node_.Rest(kTick);
    }
  }

  Task<> End(uint64_t epochs) {
    bool joined = false;
    while (!joined) joined = co_await Join();
    co_await closure_node_.Rest(kTick);
    co_await UseTheRest(epochs);
    co_await closure_node_.AwaitWatermark(queue().last_put());
    context_.progress = "what there is cannot be read";
    // Whatever arrives now changes nothing.
    for (size_t i = 0; i < context_.variables.tables(); ++i) {
      co_await closure_node_.ReadTable(i, true);
    }
    // Without faults nothing can arrive late, and resting would take long.
    if (options_.min_busy == 0) {
      co_await closure_node_.Rest(kRest);
      for (size_t i = 0; i < context_.variables.tables(); ++i) {
        co_await closure_node_.ReadTable(i, true);
      }
    }
    context_.judge.OnEnd();
    context_.progress = "the dispatcher does not stop";
    co_await closure_node_.dispatcher().Stop();
  }

  ClosureContext& context_;
  const ClosureOptions& options_;
  SimNode& node_;
  ClosureNode closure_node_;
  Random& random_;  // the node's
  DataRanges ranges_;
};

}  // namespace

Task<> RunClosureChief(ClosureContext& context, SimNode& node) {
  ClosureChief chief(context, node);
  co_await chief.Run();
}

}  // namespace capstan::simulate
