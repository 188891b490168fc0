// Whatever happens to tickets, and to the coordinator that hands them out,
// every example is used once per epoch.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capstan/dataset.h"
#include "dataset/range/cut.h"

namespace capstan {
namespace {

// How often each example was used, by epoch.
using Uses = std::map<uint64_t, std::map<int64_t, int>>;

// A run: a DataRanges, the tickets that are out, and the examples used.
class RangesRun {
 public:
  explicit RangesRun(const DataRangesOptions& options)
      : options_(options), ranges_(std::make_unique<DataRanges>(options)) {}

  size_t num_tickets() const { return tickets_.size(); }
  uint64_t epoch() const { return ranges_->epoch(); }

  void Next() {
    const uint64_t epoch = ranges_->epoch();
    std::optional<DataTicket> ticket = ranges_->Next();
    if (!ticket) {
      RC_ASSERT(ranges_->epoch() == epoch + 1);
      RC_ASSERT(returned_.empty());  // those come before the end
      return;
    }
    const DataRange& range = ticket->range();
    const RangeId id = {range.epoch, range.index};
    RC_ASSERT(range == RangeAt(options_, id));
    if (returned_.erase(id) == 0) RC_ASSERT(range.epoch == epoch);
    tickets_.push_back(*std::move(ticket));
    Check();
  }

  void Done(size_t which) {
    DataTicket ticket = Take(which);
    ticket.Done();
    for (int64_t i = ticket.range().begin; i < ticket.range().end; ++i) {
      ++uses_[ticket.range().epoch][i];
    }
    Check();
  }

  void Drop(size_t which) {
    const DataTicket ticket = Take(which);
    returned_.insert({ticket.range().epoch, ticket.range().index});
  }

  // Simulates a checkpoint: saves the position and the model as they are.
  void Save() { saved_ = {ranges_->Save(), uses_, Open()}; }

  // The job rolls back to the last checkpoint, in the same process or in
  // another; earlier tickets end some time later, or never.
  void Restore(bool same_process) {
    if (!saved_) Save();
    if (!same_process) {
      old_.push_back(
          std::exchange(ranges_, std::make_unique<DataRanges>(options_)));
    }
    ranges_->Restore(saved_->position);
    uses_ = saved_->uses;
    returned_ = saved_->open;
    for (DataTicket& ticket : tickets_) abandoned_.push_back(std::move(ticket));
    tickets_.clear();
    RC_ASSERT(ranges_->Save() == saved_->position);
    Check();
  }

  // Ends one of the tickets from before a restore.
  void EndAbandoned(bool done) {
    if (abandoned_.empty()) return;
    if (done) abandoned_.back().Done();
    abandoned_.pop_back();
    Check();
  }

  // Reads on, without failures, to the end of the epoch after this one.
  void Finish() {
    while (!tickets_.empty()) Done(0);
    const uint64_t end = epoch() + 2;
    while (epoch() < end) {
      Next();
      if (!tickets_.empty()) Done(0);
    }
  }

  // All examples except the dropped ones, in all complete epochs.
  void CheckEveryExampleWasUsedOnce() {
    const int64_t used =
        options_.drop_remainder
            ? options_.examples / options_.batch * options_.batch
            : options_.examples;
    for (uint64_t i = 0; i < epoch(); ++i) {
      RC_ASSERT(uses_[i].size() == static_cast<size_t>(used));
      for (const auto& [example, times] : uses_[i]) {
        RC_ASSERT(example < used);
        RC_ASSERT(times == 1);
      }
    }
  }

 private:
  struct Saved {
    std::string position;
    Uses uses;
    std::set<RangeId> open;
  };

  DataTicket Take(size_t which) {
    std::swap(tickets_[which], tickets_.back());
    DataTicket ticket = std::move(tickets_.back());
    tickets_.pop_back();
    return ticket;
  }

  std::set<RangeId> Open() const {
    std::set<RangeId> open = returned_;
    for (const DataTicket& ticket : tickets_) {
      open.insert({ticket.range().epoch, ticket.range().index});
    }
    return open;
  }

  void Check() const { RC_ASSERT(ranges_->outstanding() == tickets_.size()); }

  const DataRangesOptions options_;
  std::vector<std::unique_ptr<DataRanges>> old_;
  std::unique_ptr<DataRanges> ranges_;
  std::vector<DataTicket> tickets_;
  std::vector<DataTicket> abandoned_;
  std::set<RangeId> returned_;
  Uses uses_;
  std::optional<Saved> saved_;
};

void DoSomething(RangesRun& run) {
  const int what = *rc::gen::weightedElement<int>(
      {{30, 0}, {20, 1}, {10, 2}, {3, 3}, {1, 4}, {1, 5}, {2, 6}});
  const auto which = [&] {
    return *rc::gen::inRange<size_t>(0, run.num_tickets());
  };
  if (what == 1 || what == 2) {
    if (run.num_tickets() == 0) return;
    what == 1 ? run.Done(which()) : run.Drop(which());
  } else if (what == 3) {
    run.Save();
  } else if (what == 4 || what == 5) {
    run.Restore(what == 4);
  } else if (what == 6) {
    run.EndAbandoned(*rc::gen::arbitrary<bool>());
  } else {
    run.Next();
  }
}

RC_GTEST_PROP(DataRangesModel, EveryExampleIsUsedOncePerEpoch, ()) {
  DataRangesOptions options;
  options.examples = *rc::gen::inRange<int64_t>(0, 40);
  options.batch = *rc::gen::inRange<int64_t>(1, 12);
  options.shuffle = *rc::gen::arbitrary<bool>();
  options.seed = *rc::gen::arbitrary<uint64_t>();
  options.drop_remainder = *rc::gen::arbitrary<bool>();
  RangesRun run(options);
  const int steps = *rc::gen::inRange(0, 300);
  for (int i = 0; i < steps; ++i) DoSomething(run);
  run.Finish();
  RC_CLASSIFY(run.epoch() > 5, "more than 5 epochs");
  run.CheckEveryExampleWasUsedOnce();
}

}  // namespace
}  // namespace capstan
