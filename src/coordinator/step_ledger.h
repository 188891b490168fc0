// Which steps are over. They end in about the order of their numbers.
#pragma once

#include <cstdint>
#include <deque>

namespace capstan {

// Not thread-safe.
class StepLedger {
 public:
  // The number of a new step, from 1 on.
  uint64_t Begin() {
    over_.push_back(false);
    return watermark_ + over_.size();
  }

  void End(uint64_t step) {
    if (step <= watermark_ || step > last()) return;
    over_[step - watermark_ - 1] = true;
    while (!over_.empty() && over_.front()) {
      over_.pop_front();
      ++watermark_;
    }
  }

  // Every step up to this is over.
  uint64_t watermark() const { return watermark_; }
  // The last that has begun.
  uint64_t last() const { return watermark_ + over_.size(); }

 private:
  uint64_t watermark_ = 0;
  std::deque<bool> over_;  // of the steps after it
};

}  // namespace capstan
