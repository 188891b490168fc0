// When a task that failed is started again.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/async/clock.h"

namespace capstan {

// The restarts of one task: at once after the first failure, as most failures
// are accidents; then after 0.5 s, and each time twice as long, up to 10 s, as
// a task that fails again and again would only keep the machine busy. One that
// has run for kHealthy before it fails begins again with no delay: what went
// wrong before has passed. The number of restarts counts them all.
// Not thread-safe.
class RestartPolicy {
 public:
  // Longer than a program takes to fail at its start, and short enough for
  // tasks that are killed every few seconds to run most of the time.
  static constexpr Duration kHealthy = std::chrono::seconds(2);
  static constexpr Duration kMaxDelay = std::chrono::seconds(10);

  explicit RestartPolicy(int max_restarts) : max_restarts_(max_restarts) {}

  // The task was started, for the first time or again.
  void OnStart(MonotonicTime now) { started_ = now; }

  // How long a task that runs has done so.
  Duration RunTime(MonotonicTime now) const { return now - started_; }

  // The task failed. Returns how long to wait before it is started again;
  // nullopt if no restart is left.
  std::optional<Duration> OnFailure(MonotonicTime now) {
    if (restarts_ >= max_restarts_) return std::nullopt;
    ++restarts_;
    const Duration delay =
        RunTime(now) >= kHealthy ? Duration::zero() : next_delay_;
    next_delay_ = std::clamp<Duration>(
        2 * delay, std::chrono::milliseconds(500), kMaxDelay);
    return delay;
  }

  // How often it was started again, or is about to be.
  int restarts() const { return restarts_; }

 private:
  const int max_restarts_;
  int restarts_ = 0;
  Duration next_delay_ = Duration::zero();
  MonotonicTime started_ = {};
};

}  // namespace capstan
