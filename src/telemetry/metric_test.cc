#include "telemetry/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace capstan {
namespace {

using ::testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Runs `work` `times` times on each of several threads.
template <typename Work>
void OnThreads(int threads, int times, const Work& work) {
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&work, times] {
      for (int i = 0; i < times; ++i) work();
    });
  }
}

TEST(CounterTest, Grows) {
  Counter counter;
  EXPECT_EQ(counter.value(), 0u);
  counter.Increment();
  counter.Increment(41);
  EXPECT_EQ(counter.value(), 42u);
}

TEST(GaugeTest, GoesUpAndDown) {
  Gauge gauge;
  EXPECT_EQ(gauge.value(), 0);
  gauge.Add(2.5);
  gauge.Add(-4);
  EXPECT_EQ(gauge.value(), -1.5);
  gauge.Set(7);
  EXPECT_EQ(gauge.value(), 7);
}

TEST(HistogramTest, ABoundBelongsToItsBucket) {
  const std::vector<double> bounds = {-1, 0, 2.5};
  Histogram histogram(bounds);
  EXPECT_EQ(histogram.bounds(), bounds);
  EXPECT_THAT(histogram.counts(), ElementsAre(0, 0, 0, 0));
  for (const double value : {-5.0, -1.0, -0.5, 0.0, 1.0, 2.5, 2.75, 100.0}) {
    histogram.Observe(value);
  }
  EXPECT_THAT(histogram.counts(), ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(histogram.sum(), 99.75);
}

TEST(HistogramTest, WithoutBoundsAllAreAbove) {
  Histogram histogram({});
  histogram.Observe(3);
  EXPECT_THAT(histogram.counts(), ElementsAre(1));
  EXPECT_EQ(histogram.sum(), 3);
}

TEST(HistogramTest, ValuesThatAreNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> bounds = {1};
  Histogram histogram(bounds);
  histogram.Observe(kNan);
  EXPECT_THAT(histogram.counts(), ElementsAre(0, 1));
  EXPECT_EQ(histogram.sum(), 0);
  histogram.Observe(kInfinity);
  EXPECT_THAT(histogram.counts(), ElementsAre(0, 2));
  Histogram negative(bounds);
  negative.Observe(-kInfinity);
  EXPECT_THAT(negative.counts(), ElementsAre(1, 0));
}

TEST(MetricTest, NothingIsLostBetweenThreads) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 20'000;
  const std::vector<double> bounds = {1, 2};
  Counter counter;
  Gauge gauge;
  Histogram histogram(bounds);
  OnThreads(kThreads, kTimes, [&] {
    counter.Increment(3);
    gauge.Add(0.5);
    histogram.Observe(2);
  });
  EXPECT_EQ(counter.value(), 3u * kThreads * kTimes);
  EXPECT_EQ(gauge.value(), 0.5 * kThreads * kTimes);
  EXPECT_THAT(histogram.counts(), ElementsAre(0, kThreads * kTimes, 0));
  EXPECT_EQ(histogram.sum(), 2.0 * kThreads * kTimes);
}

}  // namespace
}  // namespace capstan
