#include "simulate/closures/restart_chief.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "capstan/partitioner.h"
#include "simulate/closures/closure_node.h"
#include "simulate/closures/restart_record.h"

namespace capstan::simulate {
namespace {

constexpr char kSpareName[] = "spare";

constexpr Duration kBetweenBlocks = std::chrono::milliseconds(150);
// The most steps in a block, and the most put but not yet accounted for.
constexpr uint64_t kMostInBlock = 24;
constexpr uint64_t kMostPending = 10;
// The chance that the record is updated after a step, and that the servers are
// asked for their reports.
constexpr double kAccounts = 0.4;
constexpr double kLooks = 0.1;
// The chance that the shard map changes after a step, and that the coordinator
// is then killed while the servers receive the map.
constexpr double kNewMaps = 0.1;
constexpr double kKilledAtMap = 0.2;
constexpr Duration kKilledWithin = std::chrono::milliseconds(1);

class RestartChief {
 public:
  RestartChief(ClosureContext& context, SimNode& node)
      : context_(context),
        options_(context.options),
        node_(node),
        closure_node_(context, node),
        random_(closure_node_.random()),
        closures_(static_cast<size_t>(options_.ranges)) {}
  RestartChief(const RestartChief&) = delete;
  RestartChief& operator=(const RestartChief&) = delete;

  Task<> Run() {
    if (node_.incarnation() == 1) {
      PlanClosures();
    } else {
      context_.judge.OnNewLife();
    }
    closure_node_.dispatcher().Start();
    co_await Look();
    co_await TakeOver();
    window_ = static_cast<size_t>(random_.Between(1, kMostPending));
    while (!broken_ && (block_ || record_.next < closures_)) {
      co_await RunBlock();
      if (random_.Chance(options_.joins))
        co_await closure_node_.ReadTable(0, false);
    }
    // The coordinator may still be killed.
    while (!context_.finishing) co_await closure_node_.Sleep(kTick);
    // The judge already knows the cause.
    if (broken_) co_return;
    co_await End();
    context_.over = true;
  }

 private:
  struct Pending {
    size_t number = 0;
    ClosureQueue::ClosurePtr closure;
  };

  ClosureQueue& queue() { return closure_node_.queue(); }
  RecordKeeper& records() { return closure_node_.variables().records(); }
  std::string Text() const { return EncodeRestartRecord(record_); }
  uint64_t StepOf(size_t number) const {
    return block_->first + (number - record_.base);
  }

  void Break(const absl::Status& status) {
    broken_ = true;
    context_.judge.Violation(
        absl::StrCat("the program cannot go on: ", Describe(status)));
  }

  // Plans the closures of the whole job: numbers stay the same in all lives.
  void PlanClosures() {
    for (size_t i = 0; i < closures_; ++i) {
      DataRange range;
      range.begin = static_cast<int64_t>(i) * options_.batch;
      range.end = range.begin + options_.batch;
      context_.judge.NewClosure(ClosureKind::kStep, range, true);
    }
  }

  Task<> Look() {
    for (uint32_t i = 0; i < closure_node_.client().num_servers(); ++i) {
      const absl::StatusOr<StoreReport> report =
          co_await closure_node_.client().Status(i);
      if (report.ok()) JudgeReport(context_, i, *report, closures_);
    }
  }

  Task<> TakeOver() {
    context_.progress = "the coordinator cannot take over";
    absl::Status status = absl::UnknownError("");
    while (!status.ok()) {
      status = co_await closure_node_.variables().Begin();
      if (status.ok()) break;
      // These errors may go away; a program would not retry.
      if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) {
        co_return Break(status);
      }
      co_await closure_node_.Sleep(kTick);
    }
    if (context_.variables_made && !closure_node_.variables().attached()) {
      context_.judge.Violation(
          absl::StrCat("a coordinator begins anew though all servers live: ",
                       closure_node_.variables().detached_because()));
    }
    co_await closure_node_.CreateVariables();
    context_.variables_made = true;
    const std::optional<std::string> text = records().Find(kRestartKey);
    if (!text) co_return;
    const absl::StatusOr<RestartRecord> record = DecodeRestartRecord(*text);
    if (!record.ok()) co_return Break(record.status());
    record_ = *record;
    if (context_.plant != Plant::kNewNumbers) {
      block_ = records().FindBlock(kRestartKey);
    }
    context_.world.trace().Add(closure_node_.Now(), node_.name(), "takes over",
                               record_.next, block_ ? block_->first : 0);
  }

  Task<> OpenBlock() {
    const uint64_t left = closures_ - record_.next;
    const uint64_t count =
        std::min<uint64_t>(left, 1 + random_.Below(kMostInBlock));
    record_.base = record_.next;
    block_ = queue().Reserve(count);
    records().OpenBlock(kRestartKey, *block_, Text());
    if (context_.plant == Plant::kLateBlock) co_return;
    context_.progress = "the servers do not take the record";
    absl::Status status = absl::UnknownError("");
    while (!status.ok()) {
      status = co_await closure_node_.variables().Publish();
      if (!status.ok()) co_await closure_node_.Sleep(kTick);
    }
    // From now on all servers have this record, or a newer one.
    const uint64_t published =
        records().Next(queue().counts().watermark).sequence;
    for (uint64_t& newest : context_.newest_records) {
      newest = std::max(newest, published);
    }
  }

  Task<> RunBlock() {
    if (!block_) co_await OpenBlock();
    size_t next = record_.next;
    const size_t end = record_.base + static_cast<size_t>(block_->count);
    while (!broken_ && record_.next < end) {
      while (!broken_ && next < end && pending_.size() < window_) {
        co_await Schedule(next++);
        co_await closure_node_.Sleep(options_.every);
      }
      if (!broken_) co_await TakeOne();
      if (random_.Chance(kLooks)) co_await Look();
      if (random_.Chance(kNewMaps)) co_await ChangeMap();
    }
    if (!broken_) co_await Join();
    if (broken_) co_return;
    const StepBlock block = *block_;
    block_.reset();
    records().CloseBlock(kRestartKey, Text());
    queue().EndBlock(block, block.end());
    if (random_.Chance(0.5)) co_await Evaluate();
    // When the next block starts, a record may or may not be in flight.
    if (random_.Chance(0.5)) co_await closure_node_.Sleep(kBetweenBlocks);
  }

  Task<> Schedule(size_t number) {
    Pending pending;
    pending.number = number;
    pending.closure = context_.judge.Renew(number);
    pending.closure->step = StepOf(number);
    pending_.push_back(pending);
    co_await Put(number, pending.closure);
    if (random_.Chance(options_.evaluations)) co_await Evaluate();
  }

  // Kills this coordinator within the time of one request.
  void KillSoon() {
    SimWorld& world = context_.world;
    const Duration wait(random_.Between(0, kKilledWithin.count()));
    world.clock().ScheduleAfter(
        wait, [&context = context_, &world, &node = node_,
               life = node_.incarnation()] {
          if (context.over || node.incarnation() != life) return;
          world.Crash(node, SimCrash::kProcess);
          world.clock().ScheduleAfter(kTick,
                                      [&world, &node] { world.Restart(node); });
        });
  }

  // Creates or drops a variable that no step uses. A coordinator killed
  // meanwhile leaves servers with different maps, so it is often killed here.
  Task<> ChangeMap() {
    context_.progress = "the servers do not take a new map";
    if (random_.Chance(kKilledAtMap)) KillSoon();
    JobVariables& variables = closure_node_.variables();
    absl::Status status = absl::UnknownError("");
    while (!status.ok()) {
      if (variables.map().Find(kSpareName) == nullptr) {
        VariableSpec spare;
        spare.name = kSpareName;
        spare.shape = {8};
        std::vector<VariableSpec> specs = {spare};
        Partitioner partitioner = FixedShards(4);
        status =
            co_await variables.Create(std::move(specs), std::move(partitioner));
      } else {
        std::vector<std::string> names = {kSpareName};
        status = co_await variables.Drop(std::move(names));
      }
      if (!status.ok()) co_await closure_node_.Sleep(kTick);
    }
  }

  // Nobody waits for this closure: it may still run when the next block starts.
  Task<> Evaluate() {
    const size_t number = context_.judge.num_closures();
    if (number >= static_cast<size_t>(options_.closures)) co_return;
    const DataRange none;
    const ClosureQueue::ClosurePtr closure =
        context_.judge.NewClosure(ClosureKind::kEvaluate, none, true);
    co_await Put(number, closure);
  }

  Task<> Put(size_t number, ClosureQueue::ClosurePtr closure) {
    context_.progress = absl::StrCat("closure ", number, " finds no place");
    absl::StatusOr<bool> put = queue().TryPut(closure);
    while (put.ok() && !*put) {
      co_await closure_node_.Change();
      put = queue().TryPut(closure);
    }
    if (!put.ok()) co_return Break(put.status());
    closure_node_.OnPut(number, closure);
  }

  // In order, so that what the record accounts for has no gaps.
  Task<> TakeOne() {
    const Pending oldest = pending_.front();
    context_.progress =
        absl::StrCat("closure ", oldest.number, " does not end");
    while (!queue().IsDone(*oldest.closure)) co_await closure_node_.Change();
    pending_.pop_front();
    const absl::Status status = queue().StatusOf(*oldest.closure);
    if (!status.ok()) co_return Break(status);
    record_.sum += NumberIn(oldest.closure->value);
    record_.next = oldest.number + 1;
    const size_t done = record_.next - record_.base;
    const uint32_t places = std::max(1u, queue().rules().places());
    if (done % places != 0 || !random_.Chance(kAccounts)) co_return;
    uint64_t step = StepOf(oldest.number);
    if (context_.plant == Plant::kFarRecord) {
      step = std::min(step + places, block_->end() - 1);
    }
    records().Account(kRestartKey, Text(), step);
  }

  Task<> Join() {
    const uint64_t last = queue().last_put();
    context_.progress = "Join does not return";
    std::optional<absl::Status> status = queue().TryJoin(last);
    while (!status) {
      co_await closure_node_.Change();
      status = queue().TryJoin(last);
    }
    if (!status->ok()) Break(*status);
  }

  // Waits until every server has the complete record.
  Task<> AwaitRecord() {
    for (uint32_t i = 0; i < closure_node_.client().num_servers(); ++i) {
      context_.progress =
          absl::StrCat("server ", i, " does not get the last record");
      bool all = false;
      while (!all) {
        const absl::StatusOr<StoreReport> report =
            co_await closure_node_.client().Status(i);
        if (report.ok()) all = JudgeReport(context_, i, *report, closures_);
        if (!all) co_await closure_node_.Sleep(kTick);
      }
    }
  }

  Task<> End() {
    co_await Join();
    if (broken_) co_return;
    co_await closure_node_.AwaitWatermark(queue().last_step());
    co_await AwaitRecord();
    context_.progress = "what there is cannot be read";
    co_await closure_node_.ReadTable(0, true);
    co_await closure_node_.Rest(kRest);
    co_await closure_node_.ReadTable(0, true);
    context_.judge.CheckAllSucceeded(closures_);
    context_.judge.OnEnd();
    context_.progress = "the dispatcher does not stop";
    co_await closure_node_.dispatcher().Stop();
  }

  ClosureContext& context_;
  const ClosureOptions& options_;
  SimNode& node_;
  ClosureNode closure_node_;
  Random& random_;  // the node's
  const size_t closures_;
  size_t window_ = 1;
  bool broken_ = false;
  RestartRecord record_;
  std::optional<StepBlock> block_;
  std::deque<Pending> pending_;
};

}  // namespace

Task<> RunRestartChief(ClosureContext& context, SimNode& node) {
  RestartChief chief(context, node);
  co_await chief.Run();
}

}  // namespace capstan::simulate
