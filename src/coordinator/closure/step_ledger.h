// Which steps are over. They end in about the order of their numbers.
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
  // The number of a new step, from 1 on.
  uint64_t Begin() { return Reserve(1); }

  // As many numbers in a row, and the first of them.
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

  // Goes on where another coordinator was, in place of the beginning: all steps
  // up to `watermark` are over, and of those up to `last` all but the ones of
  // `blocks`.
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

  // Every step up to this is over.
  uint64_t watermark() const { return watermark_; }
  // The last that has begun.
  uint64_t last() const { return watermark_ + over_.size(); }
  // Whether this one is over.
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
  std::deque<bool> over_;  // of the steps after it
};

}  // namespace capstan
