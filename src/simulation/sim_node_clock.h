// The clock of one simulated node: the monotonic time that all share, and a
// wall clock of its own that may be wrong.
#pragma once

#include <memory>

#include "simulation/sim_clock.h"

namespace capstan {

// Used from the simulation's thread alone.
class SimNodeClock final : public Clock {
 public:
  explicit SimNodeClock(SimClock& clock) : clock_(clock) {}

  MonotonicTime Now() const override { return clock_.Now(); }
  WallTime WallNow() const override { return clock_.WallNow() + wall_error_; }
  std::unique_ptr<Timer> NewTimer(const Executor& executor) override {
    return clock_.NewTimer(executor);
  }

  // Moves the wall clock, as an operator or a time server may.
  void set_wall_error(Duration error) { wall_error_ = error; }

 private:
  SimClock& clock_;
  Duration wall_error_{};
};

}  // namespace capstan
