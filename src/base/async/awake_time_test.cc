#include "base/async/awake_time.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

using std::chrono::seconds;

constexpr MonotonicTime kStart = MonotonicTime(seconds(1000));

TEST(AwakeTimeTest, AddsWhatPassesBetweenLooks) {
  AwakeTime waited(seconds(2), kStart);
  EXPECT_EQ(waited.Look(kStart + seconds(1)), seconds(1));
  EXPECT_EQ(waited.Look(kStart + seconds(3)), seconds(3));
  EXPECT_EQ(waited.elapsed(), seconds(3));
}

TEST(AwakeTimeTest, ALeapCountsAsTheLongestStep) {
  AwakeTime waited(seconds(2), kStart);
  EXPECT_EQ(waited.Look(kStart + seconds(500)), seconds(2));
  EXPECT_EQ(waited.Look(kStart + seconds(501)), seconds(3));
}

TEST(AwakeTimeTest, RestartsAtZero) {
  AwakeTime waited(seconds(2), kStart);
  waited.Look(kStart + seconds(2));
  waited.Restart(kStart + seconds(10));
  EXPECT_EQ(waited.elapsed(), Duration::zero());
  EXPECT_EQ(waited.Look(kStart + seconds(11)), seconds(1));
}

}  // namespace
}  // namespace capstan
