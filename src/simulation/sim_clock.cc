#include "simulation/sim_clock.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/async/waiter.h"

namespace capstan {
namespace {

constexpr MonotonicTime kStart{std::chrono::seconds(1)};

// Sleeps in a Waiter, so that the sleeper is destroyed with its executor.
class SimTimer final : public Timer {
 public:
  SimTimer(SimClock& clock, const Executor& executor)
      : clock_(clock), waiter_(executor) {}
  ~SimTimer() override { clock_.Cancel(event_); }

  Task<bool> SleepUntil(MonotonicTime time) override {
    if (time <= clock_.Now()) co_return true;
    Alarm alarm(clock_);
    if (time != kNever) {
      alarm.event = event_ = clock_.Schedule(time, [this, &alarm] {
        alarm.reached = true;
        waiter_.Wake();
      });
    }
    co_await waiter_.Sleep();
    co_return alarm.reached;
  }

  void Cancel() override {
    clock_.Cancel(event_);
    waiter_.Wake();
  }

 private:
  // Lives in the sleeper's frame: a sleeper that was woken may run after the
  // timer is gone, and may be destroyed while the timer still exists.
  struct Alarm {
    explicit Alarm(SimClock& clock_in) : clock(clock_in) {}
    ~Alarm() { clock.Cancel(event); }
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    SimClock& clock;
    SimClock::EventId event;
    bool reached = false;
  };

  SimClock& clock_;
  Waiter waiter_;
  SimClock::EventId event_;
};

}  // namespace

SimClock::SimClock(WallTime wall_start)
    : wall_start_(wall_start), now_(kStart) {}

SimClock::~SimClock() = default;

WallTime SimClock::WallNow() const { return wall_start_ + (now_ - kStart); }

std::unique_ptr<Timer> SimClock::NewTimer(const Executor& executor) {
  return std::make_unique<SimTimer>(*this, executor);
}

SimClock::EventId SimClock::Schedule(MonotonicTime time,
                                     std::function<void()> event) {
  const EventId id{std::max(time, now_), next_sequence_++};
  events_.emplace_hint(events_.end(), id, std::move(event));
  return id;
}

SimClock::EventId SimClock::ScheduleAfter(Duration delay,
                                          std::function<void()> event) {
  return Schedule(now_ + delay, std::move(event));
}

bool SimClock::Cancel(EventId id) { return events_.erase(id) > 0; }

MonotonicTime SimClock::NextTime() const {
  return events_.empty() ? kNever : events_.begin()->first.time;
}

bool SimClock::RunNext() {
  if (events_.empty()) return false;
  auto node = events_.extract(events_.begin());
  now_ = node.key().time;
  node.mapped()();
  return true;
}

void SimClock::AdvanceTo(MonotonicTime time) {
  assert(time <= NextTime());
  now_ = std::max(now_, time);
}

}  // namespace capstan
