#include "optimizer/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace capstan {
namespace {

TEST(LearningRateTest, AConstantStaysTheSame) {
  EXPECT_EQ(LearningRateAt(0.5, 0), 0.5);
  EXPECT_EQ(LearningRateAt(0.5, 1'000'000), 0.5);
}

TEST(LearningRateTest, ExponentialDecay) {
  const ExponentialDecay decay = {.initial = 0.5, .steps = 10, .rate = 0.25};
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 0), 0.5);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 5), 0.25);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 10), 0.125);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 20), 0.03125);
}

TEST(LearningRateTest, ExponentialStaircase) {
  const ExponentialDecay decay = {
      .initial = 0.5, .steps = 10, .rate = 0.25, .staircase = true};
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 9), 0.5);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 10), 0.125);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 19), 0.125);
}

TEST(LearningRateTest, PolynomialDecay) {
  const PolynomialDecay decay = {
      .initial = 1, .steps = 10, .end = 0.2, .power = 2};
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 0), 1);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 5), 0.8 * 0.25 + 0.2);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 10), 0.2);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 1000), 0.2);
}

TEST(LearningRateTest, PolynomialCycle) {
  const PolynomialDecay decay = {
      .initial = 1, .steps = 10, .end = 0, .power = 1, .cycle = true};
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 0), 1);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 10), 0);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 11), 1 - 11.0 / 20);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 20), 0);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 21), 1 - 21.0 / 30);
}

TEST(LearningRateTest, InverseTimeDecay) {
  InverseTimeDecay decay = {.initial = 0.5, .steps = 10, .rate = 2};
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 0), 0.5);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 5), 0.25);
  decay.staircase = true;
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 9), 0.5);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 10), 0.5 / 3);
}

TEST(LearningRateTest, ABoundaryBelongsToThePieceBeforeIt) {
  const PiecewiseConstant pieces = {.boundaries = {10, 20},
                                    .values = {3, 2, 1}};
  EXPECT_EQ(LearningRateAt(pieces, 0), 3);
  EXPECT_EQ(LearningRateAt(pieces, 10), 3);
  EXPECT_EQ(LearningRateAt(pieces, 11), 2);
  EXPECT_EQ(LearningRateAt(pieces, 20), 2);
  EXPECT_EQ(LearningRateAt(pieces, 21), 1);
  EXPECT_EQ(LearningRateAt(PiecewiseConstant{.values = {7}}, 5), 7);
}

TEST(LearningRateTest, CosineDecay) {
  const CosineDecay decay = {.initial = 2, .steps = 10, .alpha = 0.1};
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 0), 2);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 5), 2 * (0.9 * 0.5 + 0.1));
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 10), 0.2);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 11), 0.2);
}

TEST(LearningRateTest, CosineWarmup) {
  const CosineDecay decay = {.initial = 2, .steps = 10, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 0), 0);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 1), 0.5);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 4), 2);
  EXPECT_DOUBLE_EQ(LearningRateAt(decay, 9), 1);
  EXPECT_NEAR(LearningRateAt(decay, 14), 0, 1e-15);
}

TEST(LearningRateTest, AnyNumberOfUpdatesGivesANumber) {
  const LearningRate rates[] = {ExponentialDecay{}, PolynomialDecay{},
                                InverseTimeDecay{}, CosineDecay{},
                                PiecewiseConstant{{5}, {1, 2}}};
  for (const LearningRate& rate : rates) {
    const double last =
        LearningRateAt(rate, std::numeric_limits<uint64_t>::max());
    EXPECT_TRUE(std::isfinite(last) && last >= 0) << rate.index();
  }
}

}  // namespace
}  // namespace capstan
