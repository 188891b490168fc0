#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "train/metric/metric_test.h"

namespace capstan {
namespace {

TEST(AucTest, IsThatOfTheExampleInKeras) {
  // keras.io: AUC(num_thresholds=3) of [0, 0, 1, 1] and [0, 0.5, 0.3, 0.9] is
  // 0.75; with weights [1, 0, 0, 1] it is 1.
  const Tensor targets = F32({4}, {0, 0, 1, 1});
  const Tensor scores = F32({4}, {0, 0.5f, 0.3f, 0.9f});
  EXPECT_DOUBLE_EQ(
      MetricOver(Auc{.thresholds = 3}).Add(targets, scores).Result(), 0.75);
  EXPECT_DOUBLE_EQ(MetricOver(Auc{.thresholds = 3})
                       .Add(targets, scores, {1, 0, 0, 1})
                       .Result(),
                   1.0);
}

TEST(AucTest, IsTheShareOfPairsInOrder) {
  // Of the 4 x 3 pairs of a positive and a negative, 9 are in order.
  const Tensor targets = F32({7}, {1, 0, 1, 1, 0, 1, 0});
  const Tensor scores = F32({7}, {0.9f, 0.8f, 0.7f, 0.6f, 0.3f, 0.5f, 0.1f});
  EXPECT_NEAR(MetricOver(Auc{}).Add(targets, scores).Result(), 9.0 / 12, 1e-12);
}

TEST(AucTest, CountsScoresByTheThresholdThatTheyAreAbove) {
  // Thresholds are i / 4: scores at a threshold all land in the same bucket,
  // whichever way they are rounded.
  const Tensor targets = F32({2}, {1, 0});
  for (const float at : {0.0f, 0.25f, 0.5f, 0.75f, 1.0f}) {
    EXPECT_DOUBLE_EQ(MetricOver(Auc{.thresholds = 5})
                         .Add(targets, F32({2}, {at, at}))
                         .Result(),
                     0.5)
        << at;
  }
  EXPECT_DOUBLE_EQ(MetricOver(Auc{.thresholds = 5})
                       .Add(targets, F32({2}, {0.26f, 0.25f}))
                       .Result(),
                   1.0);
  EXPECT_DOUBLE_EQ(MetricOver(Auc{.thresholds = 5})
                       .Add(targets, F32({2}, {0.25f, 0.26f}))
                       .Result(),
                   0.0);
}

TEST(AucTest, TakesLogits) {
  const Tensor targets = F32({4}, {0, 0, 1, 1});
  EXPECT_DOUBLE_EQ(MetricOver(Auc{.from_logits = true})
                       .Add(targets, F32({4}, {-8, -1, -2, 5}))
                       .Result(),
                   0.75);
}

TEST(AucTest, BatchesMergeToTheSame) {
  MetricOver whole(Auc{});
  MetricOver first(Auc{});
  MetricOver second(Auc{});
  for (int i = 0; i < 50; ++i) {
    const auto x = static_cast<float>(std::sin(i) * 0.5 + 0.5);
    const Tensor target = F32({1}, {i % 3 == 0 ? 1.0f : 0.0f});
    whole.Add(target, F32({1}, {x}));
    (i % 2 == 0 ? first : second).Add(target, F32({1}, {x}));
  }
  EXPECT_EQ(first.Merge(second).Result(), whole.Result());
}

TEST(AucTest, OfOneClassIsZero) {
  EXPECT_EQ(MetricOver(Auc{}).Result(), 0.0);
  EXPECT_EQ(MetricOver(Auc{}).Add(F32({1}, {1}), F32({1}, {0.7f})).Result(),
            0.0);
}

TEST(AucTest, WhatIsNoNumberCountsAsLowest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_DOUBLE_EQ(
      MetricOver(Auc{}).Add(F32({2}, {1, 0}), F32({2}, {0.5f, nan})).Result(),
      1.0);
}

}  // namespace
}  // namespace capstan
