#include <gtest/gtest.h>

#include <cmath>

#include "optimizer/rule_test.h"

namespace capstan::testing {
namespace {

// The formula, without the parts that are not wanted.
Oracle OracleOf(bool centered, bool with_momentum) {
  return [=](double, double gradient, Element& element) {
    double& mean_square = element.slots[0];
    mean_square = 0.9 * mean_square + 0.1 * gradient * gradient;
    double spread = mean_square;
    if (centered) {
      double& mean = element.slots[1];
      mean = 0.9 * mean + 0.1 * gradient;
      spread -= mean * mean;
    }
    double change = 0.05 * gradient / (std::sqrt(spread) + 1e-3);
    if (with_momentum) {
      double& gathered = element.slots[centered ? 2 : 1];
      change = gathered = 0.8 * gathered + change;
    }
    element.value -= change;
  };
}

RmsProp RuleOf(bool centered, bool with_momentum) {
  return {.learning_rate = 0.05,
          .rho = 0.9,
          .momentum = with_momentum ? 0.8 : 0.0,
          .epsilon = 1e-3,
          .centered = centered};
}

TEST(RmsPropTest, IsTheFormula) {
  ExpectUpdates(RuleOf(false, false), OracleOf(false, false), 13);
  ExpectFollows(RuleOf(false, false), OracleOf(false, false));
}

TEST(RmsPropTest, WithMomentumIsTheFormula) {
  ExpectUpdates(RuleOf(false, true), OracleOf(false, true), 16);
  ExpectFollows(RuleOf(false, true), OracleOf(false, true));
}

// With means of at most 0.5, mean squares of at least 0.5 and gradients of at
// most 2, the square of the mean is below half the mean square: the difference
// loses less than two bits, a factor of three.
TEST(RmsPropTest, CenteredIsTheFormula) {
  ExpectUpdates(RuleOf(true, false), OracleOf(true, false), 40);
  ExpectFollows(RuleOf(true, false), OracleOf(true, false));
}

TEST(RmsPropTest, CenteredWithMomentumIsTheFormula) {
  ExpectUpdates(RuleOf(true, true), OracleOf(true, true), 40);
  ExpectFollows(RuleOf(true, true), OracleOf(true, true));
}

TEST(RmsPropTest, HasTheSlotsItNeeds) {
  EXPECT_EQ(MakeUpdater(RuleOf(false, false))->slots().size(), 1u);
  EXPECT_EQ(MakeUpdater(RuleOf(false, true))->slots()[1].name, "momentum");
  EXPECT_EQ(MakeUpdater(RuleOf(true, false))->slots()[1].name, "mean");
  EXPECT_EQ(MakeUpdater(RuleOf(true, true))->slots()[2].name, "momentum");
}

// The spread of a constant gradient is 0, or slightly negative by rounding.
TEST(RmsPropTest, CenteredStaysFiniteOnAConstantGradient) {
  const auto updater = MakeUpdater(RuleOf(true, false));
  constexpr size_t kSize = 64;
  Arrays arrays = Arrays::Random(*updater, kSize, 1);
  Random random(1);
  const auto gradient =
      Encode(DType::kF32, RandomNumbers(random, kSize, 0.1, 1));
  OptimizerState state;
  for (int t = 0; t < 1000; ++t) {
    updater->Dense(updater->Begin(state, 1, 0),
                   UpdateOf(arrays, DType::kF32, gradient));
    updater->Advance(state);
  }
  for (size_t i = 0; i < kSize; ++i) {
    EXPECT_TRUE(std::isfinite(arrays.value()[i]));
  }
}

}  // namespace
}  // namespace capstan::testing
