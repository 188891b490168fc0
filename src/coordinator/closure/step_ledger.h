// Which steps have ended. They end approximately in the order of their numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>

namespace capstan {

// Steps that were numbered before they are scheduled, so that a coordinator
// that takes over gives them the same numbers.
struct StepBlock {
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t first_round = 0;  // of the first step; 0: there are no rounds

  uint64_t end() const { return first + count; }
  friend bool operator==(const StepBlock&, const StepBlock&) = default;
};

// Not thread-safe.
class StepLedger {
 public:
  // The number of a new step; the first is 1.
  uint64_t Begin() { return Reserve(1); }

  // Reserves `count` consecutive numbers and returns the first.
  uint64_t Reserve(uint64_t count) {
    const uint64_t first = last() + 1;
    over_.insert(over_.end(), count, false);
    return first;
  }

  void End(uint64_t step) {
    if (step <= watermark_ || step > last()) return;
    over_[step - watermark_ - 1] = true;
    Advance();
  }

  // Continues where another coordinator stopped, before any Reserve: all steps
  // up to `watermark` have ended, and so have those up to `last` except the
  // ones in `blocks`.
  void Resume(uint64_t watermark, uint64_t last,
              std::span<const StepBlock> blocks) {
    for (const StepBlock& block : blocks)
      last = std::max(last, block.end() - 1);
    watermark_ = watermark;
    over_.assign(std::max(last, watermark) - watermark, true);
    for (const StepBlock& block : blocks) {
      for (uint64_t step = std::max(block.first, watermark + 1);
           step < block.end(); ++step) {
        over_[step - watermark - 1] = false;
      }
    }
    Advance();
  }

  // Every step up to this has ended.
  uint64_t watermark() const { return watermark_; }
  // The last step that was numbered.
  uint64_t last() const { return watermark_ + over_.size(); }
  bool IsOver(uint64_t step) const {
    return step <= watermark_ ||
           (step <= last() && over_[step - watermark_ - 1]);
  }

 private:
  void Advance() {
    while (!over_.empty() && over_.front()) {
      over_.pop_front();
      ++watermark_;
    }
  }

  uint64_t watermark_ = 0;
  std::deque<bool> over_;  // of the steps above watermark_
};

}  // namespace capstan
