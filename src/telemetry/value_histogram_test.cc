#include "telemetry/value_histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <vector>

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ValueHistogramTest, CountsInEqualBuckets) {
  const std::vector<float> values = {0, 1, 2, 2.5, 4};
  const ValueHistogram spread = SpreadOf(values, 4);
  EXPECT_EQ(spread.min, 0);
  EXPECT_EQ(spread.max, 4);
  EXPECT_EQ(spread.count, 5);
  EXPECT_EQ(spread.sum, 9.5);
  EXPECT_EQ(spread.sum_of_squares, 1 + 4 + 6.25 + 16);
  EXPECT_THAT(spread.limits, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(spread.counts, ElementsAre(2, 1, 1, 1));
}

TEST(ValueHistogramTest, EqualValuesAreOneBucket) {
  const std::vector<double> values(7, -3.5);
  const ValueHistogram spread = SpreadOf(values);
  EXPECT_EQ(spread.min, -3.5);
  EXPECT_EQ(spread.max, -3.5);
  EXPECT_THAT(spread.limits, ElementsAre(-3.5));
  EXPECT_THAT(spread.counts, ElementsAre(7));
}

TEST(ValueHistogramTest, NothingHasNoBuckets) {
  const std::vector<double> nan = {std::numeric_limits<double>::quiet_NaN()};
  for (const ValueHistogram& spread :
       {SpreadOf(std::span<const float>()), SpreadOf(nan)}) {
    EXPECT_EQ(spread.count, 0);
    EXPECT_THAT(spread.limits, IsEmpty());
    EXPECT_THAT(spread.counts, IsEmpty());
  }
}

TEST(ValueHistogramTest, LeavesOutWhatIsNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {1, kInfinity, 2, -kInfinity,
                                      std::numeric_limits<double>::quiet_NaN()};
  const ValueHistogram spread = SpreadOf(values, 2);
  EXPECT_EQ(spread.count, 2);
  EXPECT_EQ(spread.sum, 3);
  EXPECT_THAT(spread.limits, ElementsAre(1.5, 2));
  EXPECT_THAT(spread.counts, ElementsAre(1, 1));
}

TEST(ValueHistogramTest, ExtremeValuesAreAllCounted) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::vector<double> values = {-kMost, 0, kMost};
  const ValueHistogram spread = SpreadOf(values);
  EXPECT_TRUE(std::is_sorted(spread.limits.begin(), spread.limits.end()));
  EXPECT_EQ(spread.limits.back(), kMost);
  EXPECT_EQ(std::accumulate(spread.counts.begin(), spread.counts.end(), 0.0),
            3);
}

TEST(ValueHistogramTest, OfAMetric) {
  const std::array<double, 4> bounds = {0.5, 1, 2, 4};
  Histogram times(bounds);
  for (const double value : {0.75, 3.0, 3.5, 9.0}) times.Observe(value);
  const ValueHistogram spread = SpreadOf(times);
  EXPECT_EQ(spread.min, 0.5);
  EXPECT_EQ(spread.max, 4);
  EXPECT_EQ(spread.count, 4);
  EXPECT_EQ(spread.sum, 16.25);
  EXPECT_THAT(spread.limits, ElementsAre(1, 2, 4, 4));
  EXPECT_THAT(spread.counts, ElementsAre(1, 0, 2, 1));
  EXPECT_EQ(SpreadOf(Histogram(bounds)).count, 0);
}

}  // namespace
}  // namespace capstan
