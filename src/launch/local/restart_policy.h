// When a failed task is restarted.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/async/clock.h"

namespace capstan {

// The restarts of one task: immediate after the first failure, because most
// failures are accidents; then after 0.5 s, doubling up to 10 s, because a task
// that keeps failing would only keep the machine busy. A failure after at least
// kHealthy of running restarts the task immediately again: the earlier cause
// has passed. The number of restarts counts all of them. Not thread-safe.
class RestartPolicy {
 public:
  // Longer than a program takes to fail at its start, yet short enough that
  // tasks killed every few seconds run most of the time.
  static constexpr Duration kHealthy = std::chrono::seconds(2);
  static constexpr Duration kMaxDelay = std::chrono::seconds(10);

  explicit RestartPolicy(int max_restarts) : max_restarts_(max_restarts) {}

  // The task was started, for the first time or again.
  void OnStart(MonotonicTime now) { started_ = now; }

  // How long the running task has been running.
  Duration RunTime(MonotonicTime now) const { return now - started_; }

  // The task failed. Returns how long to wait before restarting it; nullopt if
  // no restarts are left.
  std::optional<Duration> OnFailure(MonotonicTime now) {
    if (restarts_ >= max_restarts_) return std::nullopt;
    ++restarts_;
    const Duration delay =
        RunTime(now) >= kHealthy ? Duration::zero() : next_delay_;
    next_delay_ = std::clamp<Duration>(
        2 * delay, std::chrono::milliseconds(500), kMaxDelay);
    return delay;
  }

  // Restarts so far, including one that is about to happen.
  int restarts() const { return restarts_; }

 private:
  const int max_restarts_;
  int restarts_ = 0;
  Duration next_delay_ = Duration::zero();
  MonotonicTime started_ = {};
};

}  // namespace capstan
