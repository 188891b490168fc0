#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "optimizer/rule_test.h"

namespace capstan::testing {
namespace {

constexpr double kFtrlRate = 0.05;

// TensorFlow's ApplyFtrlV2, with Keras's beta and its linear divided by the
// rate.
Oracle OracleOf(const Ftrl& rule) {
  return [=](double, double gradient, Element& element) {
    const double p = -rule.learning_rate_power;
    const double l2 = rule.l2 + rule.beta / (2 * kFtrlRate);
    double& accumulator = element.slots[0];
    double linear = element.slots[1] / kFtrlRate;
    const double shrunk = gradient + 2 * rule.l2_shrinkage * element.value;
    const double next = accumulator + gradient * gradient;
    const double sigma =
        (std::pow(next, p) - std::pow(accumulator, p)) / kFtrlRate;
    linear += shrunk - sigma * element.value;
    const double quadratic = std::pow(next, p) / kFtrlRate + 2 * l2;
    const double sign = linear < 0 ? -1 : 1;
    element.value =
        std::fabs(linear) > rule.l1 ? (sign * rule.l1 - linear) / quadratic : 0;
    accumulator = next;
    element.slots[1] = linear * kFtrlRate;
  };
}

// The linear slot starts at 0, so values come from gradients alone. They may
// cancel, and then the error is that of the terms: up to 2 each, in a value
// that is divided by at least 0.5.
constexpr int kRoundings = 60;

TEST(FtrlTest, IsTheFormula) {
  const Ftrl rule = {.learning_rate = kFtrlRate};
  ExpectUpdates(rule, OracleOf(rule), kRoundings);
  ExpectFollows(rule, OracleOf(rule));
}

TEST(FtrlTest, WithAllTermsIsTheFormula) {
  const Ftrl rule = {.learning_rate = kFtrlRate,
                     .l1 = 0.3,
                     .l2 = 0.2,
                     .l2_shrinkage = 0.1,
                     .beta = 0.5};
  ExpectUpdates(rule, OracleOf(rule), kRoundings);
  ExpectFollows(rule, OracleOf(rule));
}

TEST(FtrlTest, WithAnotherPowerIsTheFormula) {
  const Ftrl rule = {.learning_rate = kFtrlRate, .learning_rate_power = -0.3};
  ExpectUpdates(rule, OracleOf(rule), kRoundings);
  ExpectFollows(rule, OracleOf(rule));
}

TEST(FtrlTest, WithPowerZeroIsTheFormula) {
  const Ftrl rule = {.learning_rate = kFtrlRate, .learning_rate_power = 0};
  ExpectUpdates(rule, OracleOf(rule), kRoundings);
  ExpectFollows(rule, OracleOf(rule));
}

TEST(FtrlTest, HasItsSlots) {
  const auto updater = MakeUpdater(Ftrl{.initial_accumulator = 0.25});
  ASSERT_EQ(updater->slots().size(), 2u);
  EXPECT_EQ(updater->slots()[0].name, "accumulator");
  EXPECT_EQ(updater->slots()[0].initial, 0.25f);
  EXPECT_EQ(updater->slots()[1].name, "linear");
}

TEST(FtrlTest, AStrongL1GivesExactZeroes) {
  const auto updater =
      MakeUpdater(Ftrl{.learning_rate = kFtrlRate, .l1 = 1000});
  Arrays arrays = Arrays::Random(*updater, 20, 1);
  Random random(1);
  updater->Dense(
      updater->Begin({}, 1, 0),
      UpdateOf(arrays, DType::kF32,
               Encode(DType::kF32, RandomNumbers(random, 20, 0, 1))));
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(arrays.value()[i], 0);
}

TEST(FtrlTest, NothingAccumulatedAndNoGradientIsZero) {
  const auto updater =
      MakeUpdater(Ftrl{.initial_accumulator = 0, .l2_shrinkage = 0.5});
  Arrays arrays(2, 1);
  *arrays.value() = 3;
  *arrays.slot(0) = *arrays.slot(1) = 0;
  updater->Dense(updater->Begin({}, 1, 0),
                 UpdateOf(arrays, DType::kF32, Encode(DType::kF32, {0})));
  EXPECT_EQ(*arrays.value(), 0);
}

// In TensorFlow's usual form these values would jump with the rate.
TEST(FtrlTest, AChangeOfRateMovesNothingByItself) {
  const auto updater =
      MakeUpdater(Ftrl{.learning_rate = PiecewiseConstant{
                           .boundaries = {9, 10}, .values = {0.1, 10, 0}}});
  constexpr size_t kSize = 10;
  Arrays arrays = Arrays::Random(*updater, kSize, 1);
  for (size_t s = 0; s < 2; ++s) {
    std::fill_n(arrays.slot(s), kSize, updater->slots()[s].initial);
  }
  Random random(1);
  OptimizerState state;
  for (int t = 0; t < 10; ++t) {
    updater->Dense(
        updater->Begin(state, 1, 0),
        UpdateOf(arrays, DType::kF32,
                 Encode(DType::kF32, RandomNumbers(random, kSize, 0, 1))));
    updater->Advance(state);
  }
  const Arrays before = arrays;
  const auto no_gradient = Encode(DType::kF32, std::vector<float>(kSize));
  for (int t = 0; t < 2; ++t) {
    updater->Dense(updater->Begin(state, 1, 0),
                   UpdateOf(arrays, DType::kF32, no_gradient));
    updater->Advance(state);
  }
  ExpectSame(arrays, before);
}

}  // namespace
}  // namespace capstan::testing
