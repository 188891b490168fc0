#include "base/async/backoff.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <set>

#include "base/random.h"
#include "rapidcheck/gtest.h"

namespace capstan {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(BackoffTest, DoublesUpToTheLimitWithoutJitter) {
  Backoff backoff({.initial = milliseconds(10),
                   .max = milliseconds(55),
                   .multiplier = 2,
                   .jitter = 0},
                  Random(1));
  for (int expected : {10, 20, 40, 55, 55}) {
    EXPECT_EQ(backoff.Next(), milliseconds(expected));
  }
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), milliseconds(10));
  EXPECT_EQ(backoff.Next(), milliseconds(20));
}

TEST(BackoffTest, JitterSpreadsClients) {
  std::set<nanoseconds> waits;
  for (uint64_t client = 0; client < 200; ++client) {
    Backoff backoff({.initial = milliseconds(100), .jitter = 0.5},
                    Random(1, client));
    const nanoseconds wait = backoff.Next();
    EXPECT_GE(wait, milliseconds(50));
    EXPECT_LE(wait, milliseconds(100));
    waits.insert(wait);
  }
  EXPECT_EQ(waits.size(), 200u);
  EXPECT_LT(*waits.begin(), milliseconds(53));
  EXPECT_GT(*waits.rbegin(), milliseconds(97));
}

TEST(BackoffTest, SameRandomGivesTheSameWaits) {
  Backoff one({}, Random(3));
  Backoff two({}, Random(3));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(one.Next(), two.Next());
}

TEST(BackoffTest, OptionsOutOfRangeAreMovedInside) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Backoff backoff({.initial = nanoseconds(-5),
                   .max = nanoseconds(-9),
                   .multiplier = kNan,
                   .jitter = kNan},
                  Random(1));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(backoff.Next(), nanoseconds(1));
  Backoff all_jitter({.initial = milliseconds(1), .jitter = 7}, Random(1));
  for (int i = 0; i < 100; ++i) EXPECT_GE(all_jitter.Next(), nanoseconds(0));
}

RC_GTEST_PROP(BackoffProperty, StaysInItsBand, (uint64_t seed)) {
  const int64_t initial = *rc::gen::inRange<int64_t>(1, 1'000'000'000);
  const int64_t max =
      *rc::gen::inRange<int64_t>(initial, std::numeric_limits<int64_t>::max());
  const double multiplier = *rc::gen::inRange(100, 1000) / 100.0;
  const double jitter = *rc::gen::inRange(0, 101) / 100.0;
  Backoff backoff({.initial = nanoseconds(initial),
                   .max = nanoseconds(max),
                   .multiplier = multiplier,
                   .jitter = jitter},
                  Random(seed));
  Backoff unjittered({.initial = nanoseconds(initial),
                      .max = nanoseconds(max),
                      .multiplier = multiplier,
                      .jitter = 0},
                     Random(seed));
  nanoseconds previous(0);
  for (int i = 0; i < 50; ++i) {
    const nanoseconds base = unjittered.Next();
    RC_ASSERT(base >= previous);
    RC_ASSERT(base.count() <= max);
    previous = base;
    const nanoseconds wait = backoff.Next();
    RC_ASSERT(wait <= base);
    RC_ASSERT(wait.count() >= 0);
    // Rounding: one nanosecond, and for large values one unit of double
    // precision.
    const double least = static_cast<double>(base.count()) * (1 - jitter);
    RC_ASSERT(static_cast<double>(wait.count()) >= least * (1 - 1e-12) - 1);
  }
}

}  // namespace
}  // namespace capstan
