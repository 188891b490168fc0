#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "capstan/error.h"
#include "train/metric/metric_test.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

TEST(AccuracyTest, BinaryByThreshold) {
  // Right: 0.9 of 1, 0.4 of 0, 0.2 of 0. Wrong: 0.5 of 1, as it is not above.
  const Tensor targets = F32({4}, {1, 0, 0, 1});
  const Tensor scores = F32({4}, {0.9f, 0.4f, 0.2f, 0.5f});
  EXPECT_EQ(MetricOver(BinaryAccuracy{}).Add(targets, scores).Result(), 0.75);
  EXPECT_EQ(MetricOver(BinaryAccuracy{.threshold = 0.45})
                .Add(targets, scores)
                .Result(),
            1.0);
}

TEST(AccuracyTest, LogitsAreTurnedIntoProbabilities) {
  const Tensor targets = F32({2}, {1, 0});
  const Tensor logits = F32({2}, {0.2f, 0.3f});
  EXPECT_EQ(MetricOver(BinaryAccuracy{.from_logits = true})
                .Add(targets, logits)
                .Result(),
            0.5);
  // Or if the loss is from logits.
  EXPECT_EQ(
      MetricOver(BinaryAccuracy{}, BinaryCrossentropy{.from_logits = true})
          .Add(targets, logits)
          .Result(),
      0.5);
  EXPECT_EQ(
      MetricOver(BinaryAccuracy{}, BinaryCrossentropy{.from_logits = false})
          .Add(targets, logits)
          .Result(),
      0.5);
  EXPECT_EQ(MetricOver(BinaryAccuracy{.threshold = 0.56, .from_logits = true})
                .Add(targets, logits)
                .Result(),
            0.0);
}

TEST(AccuracyTest, SeveralOutputsCountInParts) {
  // 2 of 2 for the first example, 1 of 2 for the second.
  EXPECT_EQ(MetricOver(BinaryAccuracy{})
                .Add(F32({2, 2}, {1, 0, 1, 1}), F32({2, 2}, {1, 0, 1, 0}))
                .Result(),
            0.75);
}

TEST(AccuracyTest, SparseTakesClassNumbersOfManyTypes) {
  const Tensor scores = F32({3, 3}, {1, 5, 2, 7, 0, 0, 0, 1, 2});
  for (const Tensor& targets :
       {I64({3}, {1, 0, 1}),
        Tensor::FromValues({3}, std::vector<std::int32_t>{1, 0, 1}),
        Tensor::FromValues({3}, std::vector<std::uint8_t>{1, 0, 1}),
        F32({3}, {1, 0, 1})}) {
    EXPECT_DOUBLE_EQ(
        MetricOver(SparseCategoricalAccuracy{}).Add(targets, scores).Result(),
        2.0 / 3);
  }
}

TEST(AccuracyTest, CategoricalComparesTheLargest) {
  EXPECT_EQ(
      MetricOver(CategoricalAccuracy{})
          .Add(F32({2, 3}, {0, 1, 0, 0, 0, 1}), F32({2, 3}, {1, 5, 2, 7, 0, 0}))
          .Result(),
      0.5);
}

TEST(AccuracyTest, ItsKindIsThatOfTheLoss) {
  const Tensor scores = F32({2, 2}, {-1, 1, 3, 2});
  EXPECT_EQ(MetricOver(Accuracy{}, SparseCategoricalCrossentropy{})
                .Add(I64({2}, {1, 1}), scores)
                .Result(),
            0.5);
  EXPECT_EQ(MetricOver(Accuracy{}, CategoricalCrossentropy{})
                .Add(F32({2, 2}, {0, 1, 1, 0}), scores)
                .Result(),
            1.0);
  EXPECT_EQ(MetricOver(Accuracy{}, BinaryCrossentropy{})
                .Add(F32({2}, {0, 1}), F32({2}, {-1, 1}))
                .Result(),
            1.0);
  EXPECT_EQ(MetricOver(Accuracy{}, Hinge{})
                .Add(F32({2}, {-1, 1}), F32({2}, {-0.1f, 0.1f}))
                .Result(),
            1.0);
  // Otherwise the kind follows from the shapes.
  EXPECT_EQ(MetricOver(Accuracy{}, MeanSquaredError{})
                .Add(I64({2}, {1, 1}), scores)
                .Result(),
            0.5);
}

TEST(AccuracyTest, TopKCountsTiesAsKerasDoes) {
  const Tensor scores = F32({3, 4}, {4, 3, 2, 1, 1, 2, 2, 2, 1, 2, 3, 4});
  const Tensor targets = I64({3}, {1, 3, 0});
  EXPECT_DOUBLE_EQ(
      MetricOver(TopKAccuracy{.k = 1}).Add(targets, scores).Result(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(
      MetricOver(TopKAccuracy{.k = 2}).Add(targets, scores).Result(), 2.0 / 3);
  EXPECT_EQ(MetricOver(TopKAccuracy{.k = 4}).Add(targets, scores).Result(), 1);
  const Tensor one_hot = F32({3, 4}, {0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0});
  EXPECT_DOUBLE_EQ(
      MetricOver(TopKAccuracy{.k = 2}).Add(one_hot, scores).Result(), 2.0 / 3);
}

TEST(AccuracyTest, TopKOfWhatIsNoClassOrNoNumberIsWrong) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(MetricOver(TopKAccuracy{.k = 2})
                .Add(I64({3}, {-1, 2, 0}), F32({3, 2}, {1, 1, 1, 1, nan, 0}))
                .Result(),
            0.0);
}

TEST(AccuracyTest, WeightsWeigh) {
  EXPECT_EQ(MetricOver(SparseCategoricalAccuracy{})
                .Add(I64({2}, {0, 0}), F32({2, 2}, {1, 0, 0, 1}), {3, 1})
                .Result(),
            0.75);
}

TEST(AccuracyTest, BatchesAddUpAndMerge) {
  const Tensor right = F32({1}, {1});
  const Tensor targets = F32({1}, {1});
  const Tensor wrong = F32({1}, {0});
  MetricOver one(BinaryAccuracy{});
  one.Add(targets, right).Add(targets, wrong);
  MetricOver other(BinaryAccuracy{});
  other.Add(targets, right).Add(targets, right);
  EXPECT_EQ(one.Merge(other).Result(), 0.75);
  one.state().Reset();
  EXPECT_EQ(one.Result(), 0.0);
}

TEST(AccuracyTest, WhatDoesNotFitIsNamed) {
  const auto refused = [](const MetricSpec& metric, const Tensor& targets,
                          const Tensor& predictions, const char* why) {
    EXPECT_THAT([&] { MetricOver(metric).Add(targets, predictions); },
                ThrowsMessage<Error>(HasSubstr(why)));
  };
  refused(BinaryAccuracy{}, F32({3}, {0, 0, 0}), F32({2}, {0, 0}),
          "targets of shape [3] and predictions of shape [2]");
  refused(BinaryAccuracy{}, F32({1, 2}, {0, 0}), F32({1}, {0}),
          "number by number");
  refused(SparseCategoricalAccuracy{}, F32({1, 2}, {0, 0}),
          F32({1, 3}, {0, 0, 0}), "one class number");
  refused(BinaryAccuracy{}, F32({1}, {0}), I64({1}, {0}), "takes f32");
  EXPECT_THAT(
      [] {
        MetricOver(BinaryAccuracy{})
            .Add(F32({2}, {0, 0}), F32({2}, {0, 0}), {1});
      },
      ThrowsMessage<Error>(HasSubstr("1 weights for 2 examples")));
}

}  // namespace
}  // namespace capstan
