// Virtual time: a queue of events ordered by time, and by who was scheduled
// first where the times are equal. Time stands still while code runs and jumps
// from event to event, so a simulated hour costs only what happens in
// it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/async/clock.h"

namespace capstan {

// Used from one thread only, unlike other clocks. Its timers may be used on any
// number of executors, all run by that thread. Must outlive them.
class SimClock final : public Clock {
 public:
  // Identifies an event that has not happened yet.
  struct EventId {
    MonotonicTime time = kNever;
    uint64_t sequence = 0;
    auto operator<=>(const EventId&) const = default;
  };

  // Wall time begins at `wall_start`, monotonic time at one second.
  explicit SimClock(WallTime wall_start = DefaultWallStart());
  ~SimClock() override;

  MonotonicTime Now() const override { return now_; }
  WallTime WallNow() const override;
  std::unique_ptr<Timer> NewTimer(const Executor& executor) override;

  // Schedules `event` for `time`, or for now (that is, the next RunNext) if
  // that has passed. The event may schedule and cancel others.
  EventId Schedule(MonotonicTime time, std::function<void()> event);
  EventId ScheduleAfter(Duration delay, std::function<void()> event);

  // Cancels an event. Returns false if it has already happened or been
  // cancelled.
  bool Cancel(EventId id);

  // The time of the next event; kNever if there is none.
  MonotonicTime NextTime() const;

  // Advances time to the next event and runs it. Returns false if there is
  // none.
  bool RunNext();

  // Advances time to `time`; no event may be due before it.
  void AdvanceTo(MonotonicTime time);

 private:
  // 2023-11-14 22:13:20 UTC, which is easy to recognize in a log.
  static WallTime DefaultWallStart() {
    return WallTime(std::chrono::seconds(1'700'000'000));
  }

  const WallTime wall_start_;
  MonotonicTime now_;
  uint64_t next_sequence_ = 1;
  std::map<EventId, std::function<void()>> events_;
};

}  // namespace capstan
