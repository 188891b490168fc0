#include "simulation/sim_clock.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "testing/alive.h"

namespace capstan {
namespace {

using testing::Alive;

using std::chrono::hours;
using std::chrono::milliseconds;

Task<> SleepAndTell(Timer& timer, MonotonicTime until,
                    std::optional<bool>& result, int& alive) {
  Alive mark(alive);
  result = co_await timer.SleepUntil(until);
}

class SimClockTest : public ::testing::Test {
 protected:
  // Runs everything that is ready, then one event, until nothing is left.
  void Run() {
    do {
      Poll();
    } while (clock_.RunNext());
    Poll();
  }
  void Poll() {
    context_->restart();
    context_->poll();
  }
  Executor executor() { return context_->get_executor(); }

  SimClock clock_;
  std::unique_ptr<asio::io_context> context_ =
      std::make_unique<asio::io_context>(1);
  const MonotonicTime start_ = clock_.Now();
  std::optional<bool> result_;
  int alive_ = 0;
};

TEST_F(SimClockTest, EventsHappenInOrderOfTimeThenOfScheduling) {
  std::string order;
  clock_.Schedule(start_ + milliseconds(2), [&] { order += 'c'; });
  clock_.Schedule(start_ + milliseconds(1), [&] { order += 'a'; });
  clock_.Schedule(start_ + milliseconds(1), [&] { order += 'b'; });
  clock_.Schedule(start_ - hours(1), [&] { order += '0'; });
  EXPECT_EQ(clock_.NextTime(), start_);
  while (clock_.RunNext()) {
  }
  EXPECT_EQ(order, "0abc");
  EXPECT_EQ(clock_.Now(), start_ + milliseconds(2));
  EXPECT_EQ(clock_.NextTime(), kNever);
}

TEST_F(SimClockTest, EventsScheduleAndCancelOthers) {
  std::string order;
  SimClock::EventId doomed =
      clock_.ScheduleAfter(milliseconds(5), [&] { order += 'x'; });
  clock_.ScheduleAfter(milliseconds(1), [&] {
    order += 'a';
    EXPECT_TRUE(clock_.Cancel(doomed));
    EXPECT_FALSE(clock_.Cancel(doomed));
    clock_.ScheduleAfter(milliseconds(1), [&] { order += 'b'; });
  });
  while (clock_.RunNext()) {
  }
  EXPECT_EQ(order, "ab");
}

TEST_F(SimClockTest, WallTimeFollowsVirtualTime) {
  const WallTime before = clock_.WallNow();
  clock_.AdvanceTo(start_ + hours(3));
  EXPECT_EQ(clock_.WallNow() - before, hours(3));
  EXPECT_EQ(clock_.Now() - start_, hours(3));
}

TEST_F(SimClockTest, TimerWakesItsSleeperAtTheTime) {
  std::unique_ptr<Timer> timer = clock_.NewTimer(executor());
  Spawn(executor(), SleepAndTell(*timer, start_ + hours(1), result_, alive_));
  Poll();
  EXPECT_FALSE(result_.has_value());
  Run();
  EXPECT_EQ(result_, true);
  EXPECT_EQ(clock_.Now(), start_ + hours(1));
}

TEST_F(SimClockTest, TimeThatHasPassedNeedsNoEvent) {
  std::unique_ptr<Timer> timer = clock_.NewTimer(executor());
  Spawn(executor(), SleepAndTell(*timer, start_, result_, alive_));
  Poll();
  EXPECT_EQ(result_, true);
}

TEST_F(SimClockTest, CancelEndsTheSleepInProgressAlone) {
  std::unique_ptr<Timer> timer = clock_.NewTimer(executor());
  timer->Cancel();
  Spawn(executor(), SleepAndTell(*timer, kNever, result_, alive_));
  Poll();
  EXPECT_FALSE(result_.has_value());
  timer->Cancel();
  Run();
  EXPECT_EQ(result_, false);
  EXPECT_EQ(clock_.Now(), start_);
  Spawn(executor(),
        SleepAndTell(*timer, start_ + milliseconds(1), result_, alive_));
  Run();
  EXPECT_EQ(result_, true);
}

TEST_F(SimClockTest, CancelAfterTheTimeIsTooLate) {
  std::unique_ptr<Timer> timer = clock_.NewTimer(executor());
  Spawn(executor(),
        SleepAndTell(*timer, start_ + milliseconds(1), result_, alive_));
  Poll();
  ASSERT_TRUE(clock_.RunNext());
  timer->Cancel();
  Run();
  EXPECT_EQ(result_, true);
}

TEST_F(SimClockTest, DestroyingTheTimerDestroysItsSleeper) {
  std::unique_ptr<Timer> timer = clock_.NewTimer(executor());
  Spawn(executor(), SleepAndTell(*timer, start_ + hours(1), result_, alive_));
  Poll();
  EXPECT_EQ(alive_, 1);
  timer.reset();
  Poll();  // Asio unwinds coroutines from the executor's queue
  EXPECT_EQ(alive_, 0);
  EXPECT_FALSE(result_.has_value());
  EXPECT_EQ(clock_.NextTime(), kNever);
}

TEST_F(SimClockTest, SleeperOutlivesTheTimerThatWokeIt) {
  std::unique_ptr<Timer> timer = clock_.NewTimer(executor());
  Spawn(executor(),
        SleepAndTell(*timer, start_ + milliseconds(1), result_, alive_));
  Poll();
  ASSERT_TRUE(clock_.RunNext());
  timer.reset();
  Poll();
  EXPECT_EQ(result_, true);
}

Task<> SleepOnOwnTimer(SimClock& clock, Executor executor, int& alive) {
  Alive mark(alive);
  std::unique_ptr<Timer> timer = clock.NewTimer(executor);
  co_await timer->SleepUntil(clock.Now() + hours(1));
}

TEST_F(SimClockTest, DestroyingTheContextDestroysSleepersAndTheirEvents) {
  for (int i = 0; i < 3; ++i) {
    Spawn(executor(), SleepOnOwnTimer(clock_, executor(), alive_));
  }
  Poll();
  EXPECT_EQ(alive_, 3);
  EXPECT_NE(clock_.NextTime(), kNever);
  context_.reset();
  EXPECT_EQ(alive_, 0);
  EXPECT_EQ(clock_.NextTime(), kNever);
}

}  // namespace
}  // namespace capstan
