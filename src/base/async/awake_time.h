// How long this process has waited for something, counting only the time when
// it was running.
#pragma once

#include <algorithm>
#include <optional>

#include "base/async/clock.h"

namespace capstan {

// A process that was stopped (SIGSTOP, a frozen container, a swapping machine)
// sees the clock jump when it resumes. An answer may have arrived meanwhile
// that the process has not read yet, so the jump must not count as silence: of
// the time between two looks, at most `longest` counts. Look more often than
// that. Not thread-safe.
class AwakeTime {
 public:
  AwakeTime(Duration longest, MonotonicTime now,
            Duration elapsed = Duration::zero())
      : longest_(longest), elapsed_(elapsed), last_look_(now) {}

  void Restart(MonotonicTime now) {
    Look(now);
    elapsed_ = Duration::zero();
  }

  // Adds the time since the last look and returns the sum.
  Duration Look(MonotonicTime now) {
    elapsed_ = At(now);
    if (now - last_look_ > longest_) continued_ = now;
    last_look_ = now;
    return elapsed_;
  }

  Duration elapsed() const { return elapsed_; }
  // The time of the last look that found that the process had been stopped, if
  // any.
  std::optional<MonotonicTime> continued() const { return continued_; }
  // What Look would return; changes nothing.
  Duration At(MonotonicTime now) const {
    return elapsed_ + std::min<Duration>(now - last_look_, longest_);
  }

 private:
  Duration longest_;
  Duration elapsed_;
  MonotonicTime last_look_;
  std::optional<MonotonicTime> continued_;
};

}  // namespace capstan
