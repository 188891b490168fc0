#include "base/async/real_clock.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

namespace capstan {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

Task<> Sleep(Timer& timer, MonotonicTime until, int& result) {
  const bool expired = co_await timer.SleepUntil(until);
  result = expired ? 1 : 0;
}

TEST(RealClockTest, MonotonicTimeDoesNotGoBack) {
  RealClock clock;
  MonotonicTime last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const MonotonicTime now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClockTest, ATimerNeverFiresEarly) {
  RealClock clock;
  asio::io_context context;
  std::unique_ptr<Timer> timer = clock.NewTimer(context.get_executor());
  const MonotonicTime until = clock.Now() + milliseconds(5);
  int result = -1;
  Spawn(context.get_executor(), Sleep(*timer, until, result));
  context.run();
  EXPECT_EQ(result, 1);
  EXPECT_GE(clock.Now(), until);
}

TEST(RealClockTest, ATimeThatHasPassedFiresAtOnce) {
  RealClock clock;
  asio::io_context context;
  std::unique_ptr<Timer> timer = clock.NewTimer(context.get_executor());
  int result = -1;
  Spawn(context.get_executor(),
        Sleep(*timer, clock.Now() - milliseconds(5), result));
  context.run();
  EXPECT_EQ(result, 1);
}

TEST(RealClockTest, CancelEndsTheSleepInProgressOnly) {
  RealClock clock;
  asio::io_context context;
  std::unique_ptr<Timer> timer = clock.NewTimer(context.get_executor());
  timer->Cancel();
  int result = -1;
  Spawn(context.get_executor(), Sleep(*timer, clock.Now() + hours(1), result));
  context.poll();
  EXPECT_EQ(result, -1);
  timer->Cancel();
  context.run();
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace capstan
