#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/error.h"
#include "train/metric/metric_test.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

const Tensor kTargets = F32({3}, {1, 2, 3});
const Tensor kPredictions = F32({3}, {1, 4, 0});

TEST(ErrorMetricsTest, OfHandComputedValues) {
  EXPECT_DOUBLE_EQ(
      MetricOver(MeanSquaredErrorMetric{}).Add(kTargets, kPredictions).Result(),
      13.0 / 3);
  EXPECT_DOUBLE_EQ(
      MetricOver(RootMeanSquaredError{}).Add(kTargets, kPredictions).Result(),
      std::sqrt(13.0 / 3));
  EXPECT_DOUBLE_EQ(MetricOver(MeanAbsoluteErrorMetric{})
                       .Add(kTargets, kPredictions)
                       .Result(),
                   5.0 / 3);
  EXPECT_DOUBLE_EQ(MetricOver(Mean{}).Add(kTargets, kPredictions).Result(),
                   5.0 / 3);
}

TEST(ErrorMetricsTest, WithWeights) {
  const std::vector<float> weights = {1, 2, 0};
  EXPECT_DOUBLE_EQ(MetricOver(MeanSquaredErrorMetric{})
                       .Add(kTargets, kPredictions, weights)
                       .Result(),
                   8.0 / 3);
  EXPECT_DOUBLE_EQ(
      MetricOver(Mean{}).Add(kTargets, kPredictions, weights).Result(), 3.0);
}

TEST(ErrorMetricsTest, TheRootIsTakenOfTheWhole) {
  MetricOver one(RootMeanSquaredError{});
  one.Add(F32({1}, {0}), F32({1}, {3}));
  MetricOver other(RootMeanSquaredError{});
  other.Add(F32({1}, {0}), F32({1}, {1}));
  EXPECT_DOUBLE_EQ(one.Merge(other).Result(), std::sqrt(5.0));
}

TEST(ErrorMetricsTest, SeveralOutputsAreAveraged) {
  EXPECT_DOUBLE_EQ(
      MetricOver(MeanSquaredErrorMetric{})
          .Add(F32({2, 2}, {0, 0, 0, 0}), F32({2, 2}, {1, 1, 2, 0}))
          .Result(),
      1.5);
}

TEST(PrecisionRecallTest, OfHandComputedValues) {
  // True positives 2, false positives 1, false negatives 2.
  const Tensor targets = F32({6}, {1, 1, 0, 1, 1, 0});
  const Tensor scores = F32({6}, {0.9f, 0.8f, 0.7f, 0.2f, 0.5f, 0.1f});
  EXPECT_DOUBLE_EQ(MetricOver(Precision{}).Add(targets, scores).Result(),
                   2.0 / 3);
  EXPECT_DOUBLE_EQ(MetricOver(Recall{}).Add(targets, scores).Result(), 0.5);
  EXPECT_DOUBLE_EQ(
      MetricOver(Recall{.threshold = 0.15}).Add(targets, scores).Result(), 1);
  EXPECT_DOUBLE_EQ(
      MetricOver(Precision{}).Add(targets, scores, {1, 1, 6, 1, 1, 1}).Result(),
      0.25);
}

TEST(PrecisionRecallTest, OfNothingIsZero) {
  EXPECT_EQ(MetricOver(Precision{}).Result(), 0.0);
  EXPECT_EQ(MetricOver(Recall{}).Result(), 0.0);
}

TEST(MakeMetricTest, RefusesWhatMakesNoSense) {
  const auto refused = [](const MetricSpec& metric, const char* why) {
    EXPECT_THAT([&] { MakeMetric(metric, MeanSquaredError{}); },
                ThrowsMessage<Error>(HasSubstr(why)));
  };
  refused(TopKAccuracy{.k = 0}, "k must be at least 1");
  refused(Auc{.thresholds = 1}, "2 to 100000 thresholds");
  refused(Precision{.threshold = NAN}, "threshold");
  refused(CustomMetric{.name = "mine"}, "no metric 'mine'");
}

TEST(MakeMetricTest, MakesThoseOfTheModel) {
  const std::map<std::string, MetricFactory> custom = {
      {"mine", [] { return MakeMetric(Mean{}, MeanSquaredError{}); }}};
  EXPECT_NE(
      MakeMetric(CustomMetric{.name = "mine"}, MeanSquaredError{}, custom),
      nullptr);
}

}  // namespace
}  // namespace capstan
