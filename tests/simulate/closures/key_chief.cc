#include "simulate/closures/key_chief.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "simulate/closures/closure_node.h"

namespace capstan::simulate {
namespace {

// How many keys are scheduled at once, and how far ahead they may be.
constexpr size_t kMostOpen = 10;
constexpr uint64_t kKeysAhead = 24;
// The chance that the servers are asked for their reports.
constexpr double kKeyLooks = 0.05;

class KeyChief {
 public:
  KeyChief(ClosureContext& context, SimNode& node)
      : context_(context),
        options_(context.options),
        node_(node),
        closure_node_(context, node),
        random_(closure_node_.random()),
        keys_(static_cast<uint64_t>(options_.ranges)) {}
  KeyChief(const KeyChief&) = delete;
  KeyChief& operator=(const KeyChief&) = delete;

  Task<> Run() {
    if (node_.incarnation() == 1) {
      PlanClosures();
    } else {
      context_.judge.OnNewLife();
    }
    closure_node_.dispatcher().Start();
    co_await Look();
    co_await TakeOver();
    window_ = static_cast<size_t>(random_.Between(1, kMostOpen));
    while (!broken_ && FirstIncomplete() < keys_) co_await Step();
    // The coordinator may still be killed.
    while (!context_.finishing) co_await closure_node_.Sleep(kTick);
    // The judge already knows the cause.
    if (broken_) co_return;
    co_await End();
    context_.over = true;
  }

 private:
  ClosureQueue& queue() { return closure_node_.queue(); }
  uint64_t FirstIncomplete() { return *queue().FirstIncomplete(); }
  bool IsComplete(uint64_t key) { return *queue().IsComplete(key); }

  void Break(const absl::Status& status) {
    broken_ = true;
    context_.judge.Violation(
        absl::StrCat("the program cannot go on: ", Describe(status)));
  }

  void PlanClosures() {
    for (uint64_t i = 0; i < keys_; ++i) {
      DataRange range;
      range.begin = static_cast<int64_t>(i) * options_.batch;
      range.end = range.begin + options_.batch;
      context_.judge.NewClosure(ClosureKind::kStep, range, true);
    }
  }

  // Judges a server's report: complete keys have succeeded, and whatever may
  // run again is above its watermark.
  void JudgeKeys(uint32_t server, const StoreReport& report) {
    if (report.record.empty()) return;
    const absl::StatusOr<JobRecord> record = DecodeJobRecord(report.record);
    if (!record.ok()) return Break(record.status());
    const auto part = record->parts.find(kStepKeysPart);
    if (part == record->parts.end()) return;
    const absl::StatusOr<CompleteKeys> complete =
        DecodeCompleteKeys(part->second);
    if (!complete.ok()) return Break(complete.status());
    KeyLedger ledger;
    const absl::StatusOr<std::vector<uint64_t>> over =
        ledger.Load(*complete, record->blocks, report.last_step);
    if (!over.ok()) return Break(over.status());
    for (uint64_t key = 0; key < keys_; ++key) {
      if (ledger.Look(key) != KeyLedger::State::kComplete ||
          context_.judge.Succeeded(key)) {
        continue;
      }
      context_.judge.Violation(
          absl::StrCat("server ", server, " has a record that says that key ",
                       key, " is complete, which it is not"));
    }
    for (const auto& [name, open] : ledger.open_blocks()) {
      if (report.watermark <= open.over) continue;
      context_.judge.Violation(absl::StrCat(
          "server ", server, " has the watermark ", report.watermark,
          ", but only steps up to ", open.over, " of ", name, " are over"));
    }
  }

  Task<> Look() {
    for (uint32_t i = 0; i < closure_node_.client().num_servers(); ++i) {
      const absl::StatusOr<StoreReport> report =
          co_await closure_node_.client().Status(i);
      if (report.ok()) JudgeKeys(i, *report);
    }
  }

  Task<> TakeOver() {
    context_.progress = "the coordinator cannot take over";
    absl::Status status = absl::UnknownError("");
    while (!status.ok()) {
      status = co_await closure_node_.variables().Begin();
      if (!status.ok()) co_await closure_node_.Sleep(kTick);
    }
    if (context_.variables_made && !closure_node_.variables().attached()) {
      context_.judge.Violation(absl::StrCat(
          "a coordinator starts from scratch though all servers live: ",
          closure_node_.variables().detached_because()));
    }
    co_await closure_node_.CreateVariables();
    context_.variables_made = true;
    for (uint64_t key = 0; key < keys_; ++key) {
      if (!IsComplete(key) || context_.judge.Succeeded(key)) continue;
      context_.judge.Violation(
          absl::StrCat("key ", key, " is complete, and has not succeeded"));
    }
    if (context_.plant == Plant::kNewNumbers) {
      const auto record = queue().NewKeyRecord(0);
      if (record) queue().ResetKeys(record->complete).IgnoreError();
    }
    context_.world.trace().Add(closure_node_.Now(), node_.name(), "takes over",
                               FirstIncomplete());
  }

  Task<> Step() {
    std::vector<uint64_t> free;
    const uint64_t first = FirstIncomplete();
    for (uint64_t key = first; key < std::min(first + kKeysAhead, keys_);
         ++key) {
      if (!IsComplete(key) && !open_.contains(key)) free.push_back(key);
    }
    if (!free.empty() && open_.size() < window_) {
      const uint64_t key = free[random_.Below(free.size())];
      co_await Schedule(key);
      co_await closure_node_.Sleep(options_.every);
      // One number is reserved for the end.
      const size_t numbers = context_.judge.num_closures() + 1;
      if (random_.Chance(options_.evaluations) &&
          numbers < static_cast<size_t>(options_.closures)) {
        co_await Evaluate();
      }
      if (random_.Chance(options_.cancels)) CancelOne();
    } else {
      context_.progress = absl::StrCat("key ", first, " is never complete");
      // The judge hears of an end only after the queue has reported the change.
      const bool untold = std::any_of(
          open_.begin(), open_.end(),
          [&](const auto& item) { return queue().IsDone(*item.second); });
      if (untold) {
        co_await closure_node_.Sleep(kTick);
      } else {
        co_await closure_node_.Change();
      }
    }
    if (random_.Chance(kKeyLooks)) co_await Look();
    std::erase_if(open_, [&](const auto& item) {
      // The judge must hear of its end before it is put again.
      if (!context_.judge.Ended(item.first)) return false;
      const absl::Status status = queue().StatusOf(*item.second);
      if (!status.ok() && !absl::IsCancelled(status)) Break(status);
      return true;
    });
  }

  Task<> Schedule(uint64_t key) {
    const ClosureQueue::ClosurePtr closure = context_.judge.Renew(key);
    closure->key = key;
    open_[key] = closure;
    co_await Put(key, closure);
  }

  // This closure has no key, and takes a step after those that do.
  Task<> Evaluate() {
    const size_t number = context_.judge.num_closures();
    const DataRange none;
    const ClosureQueue::ClosurePtr closure =
        context_.judge.NewClosure(ClosureKind::kEvaluate, none, true);
    co_await Put(number, closure);
  }

  Task<> Put(size_t number, ClosureQueue::ClosurePtr closure) {
    context_.progress = absl::StrCat("closure ", number, " finds no place");
    absl::StatusOr<bool> put = queue().TryPut(closure);
    while (put.ok() && !*put) {
      if (closure->key && queue().NumberKey(*closure->key)) {
        co_await TellOfNumbers();
      } else {
        co_await closure_node_.Change();
      }
      put = queue().TryPut(closure);
    }
    if (!put.ok()) co_return Break(put.status());
    closure_node_.OnPut(number, closure);
  }

  Task<> TellOfNumbers() {
    if (context_.plant == Plant::kLateBlock) {
      queue().KeysPublished(UINT64_MAX);
      co_return;
    }
    const absl::Status status = co_await closure_node_.variables().Publish();
    if (!status.ok()) co_await closure_node_.Sleep(kTick);
  }

  void CancelOne() {
    if (open_.empty()) return;
    auto chosen = open_.begin();
    std::advance(chosen, random_.Below(open_.size()));
    context_.judge.OnCancel(chosen->first);
    queue().Cancel(*chosen->second);
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

  Task<> End() {
    // The remaining numbers are given up for this one.
    co_await Evaluate();
    if (!broken_) co_await Join();
    if (broken_) co_return;
    co_await closure_node_.AwaitWatermark(queue().last_step());
    co_await Look();
    context_.progress = "what there is cannot be read";
    co_await closure_node_.ReadTable(0, true);
    co_await closure_node_.Rest(kRest);
    co_await closure_node_.ReadTable(0, true);
    context_.judge.CheckAllSucceeded(keys_);
    context_.judge.OnEnd();
    context_.progress = "the dispatcher does not stop";
    co_await closure_node_.dispatcher().Stop();
  }

  ClosureContext& context_;
  const ClosureOptions& options_;
  SimNode& node_;
  ClosureNode closure_node_;
  Random& random_;  // the node's
  const uint64_t keys_;
  size_t window_ = 1;
  bool broken_ = false;
  std::map<uint64_t, ClosureQueue::ClosurePtr> open_;
};

}  // namespace

Task<> RunKeyChief(ClosureContext& context, SimNode& node) {
  KeyChief chief(context, node);
  co_await chief.Run();
}

}  // namespace capstan::simulate
