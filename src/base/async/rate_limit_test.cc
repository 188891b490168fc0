#include "base/async/rate_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rapidcheck/gtest.h"

namespace capstan {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(RateLimitTest, FirstEventsPassAndTheRestAreCounted) {
  RateLimit limit(2, seconds(10));
  EXPECT_EQ(limit.Allow(seconds(0)), 0u);
  EXPECT_EQ(limit.Allow(seconds(1)), 0u);
  EXPECT_EQ(limit.Allow(seconds(2)), std::nullopt);
  EXPECT_EQ(limit.Allow(seconds(9)), std::nullopt);
  EXPECT_EQ(limit.suppressed(), 2u);
  EXPECT_EQ(limit.Allow(seconds(10)), 2u);
  EXPECT_EQ(limit.suppressed(), 0u);
  // The event at 1 s is still within 10 s of 10.5 s; at 11 s it is not.
  EXPECT_EQ(limit.Allow(std::chrono::milliseconds(10500)), std::nullopt);
  EXPECT_EQ(limit.Allow(seconds(11)), 1u);
}

TEST(RateLimitTest, WorksBeforeTimeZero) {
  RateLimit limit(1, seconds(1));
  EXPECT_EQ(limit.Allow(seconds(-100)), 0u);
  EXPECT_EQ(limit.Allow(seconds(-100)), std::nullopt);
  EXPECT_EQ(limit.Allow(seconds(-99)), 1u);
}

TEST(RateLimitTest, ZeroLetsNothingThrough) {
  RateLimit limit(0, seconds(1));
  EXPECT_EQ(limit.Allow(seconds(0)), std::nullopt);
  EXPECT_EQ(limit.Allow(seconds(100)), std::nullopt);
  EXPECT_EQ(limit.suppressed(), 2u);
}

TEST(RateLimitTest, TimeThatRunsBackwardsGainsNothing) {
  RateLimit limit(1, seconds(1));
  EXPECT_EQ(limit.Allow(seconds(5)), 0u);
  EXPECT_EQ(limit.Allow(seconds(1)), std::nullopt);
  EXPECT_EQ(limit.Allow(seconds(6)), 1u);
}

RC_GTEST_PROP(RateLimitProperty, NeverMoreThanTheLimitAndNothingUncounted,
              (const std::vector<uint8_t>& steps)) {
  const size_t max = *rc::gen::inRange<size_t>(1, 5);
  const nanoseconds interval(*rc::gen::inRange(1, 400));
  RateLimit limit(max, interval);
  nanoseconds now(0);
  std::vector<nanoseconds> passed;
  uint64_t reported = 0;
  for (uint8_t step : steps) {
    now += nanoseconds(step);
    const auto within =
        std::count_if(passed.begin(), passed.end(),
                      [&](nanoseconds time) { return now - time < interval; });
    const std::optional<uint64_t> result = limit.Allow(now);
    RC_ASSERT(result.has_value() == (static_cast<size_t>(within) < max));
    if (result.has_value()) {
      passed.push_back(now);
      reported += *result;
    }
  }
  RC_ASSERT(passed.size() + reported + limit.suppressed() == steps.size());
}

}  // namespace
}  // namespace capstan
