// The clock of one simulated node: the monotonic time that all nodes share, and
// its own wall clock, which may be wrong.
#pragma once

#include <memory>

#include "simulation/sim_clock.h"

namespace capstan {

// Used from the simulation's thread only.
class SimNodeClock final : public Clock {
 public:
  explicit SimNodeClock(SimClock& clock) : clock_(clock) {}

  MonotonicTime Now() const override { return clock_.Now(); }
  WallTime WallNow() const override { return clock_.WallNow() + wall_error_; }
  std::unique_ptr<Timer> NewTimer(const Executor& executor) override {
    return clock_.NewTimer(executor);
  }

  // Sets the wall clock's error, as an operator or a time server may.
  void set_wall_error(Duration error) { wall_error_ = error; }

 private:
  SimClock& clock_;
  Duration wall_error_{};
};

}  // namespace capstan
