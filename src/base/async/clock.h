// The seam to time. Safety never depends on the wall clock: deadlines, leases
// and timeouts use monotonic time; wall time is for people to read.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/async/task.h"

namespace capstan {

using Duration = std::chrono::nanoseconds;

// Monotonic time as its own type, so that it is never mixed with wall time or
// read from anything but a Clock.
struct Monotonic {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Monotonic>;
  static constexpr bool is_steady = true;
};
using MonotonicTime = Monotonic::time_point;
using WallTime = std::chrono::sys_time<Duration>;

// For messages.
inline std::int64_t RoundedSeconds(Duration duration) {
  return std::chrono::round<std::chrono::seconds>(duration).count();
}

// A point that never comes.
inline constexpr MonotonicTime kNever = MonotonicTime::max();

// Sleeps on one executor until a given time or until cancelled. Used only from
// that executor. Destroying the timer destroys a coroutine that is sleeping in
// it.
class Timer {
 public:
  virtual ~Timer() = default;

  // Returns true at `time` (immediately if it has passed), or false as soon as
  // Cancel is called. At most one sleeper at a time.
  virtual Task<bool> SleepUntil(MonotonicTime time) = 0;

  // Ends the sleep in progress, if any; later sleeps are unaffected.
  virtual void Cancel() = 0;
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime Now() const = 0;
  virtual WallTime WallNow() const = 0;
  // The timer must not outlive the clock or the executor's context.
  virtual std::unique_ptr<Timer> NewTimer(const Executor& executor) = 0;
};

}  // namespace capstan
