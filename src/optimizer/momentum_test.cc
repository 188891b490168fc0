#include <gtest/gtest.h>

#include "optimizer/rule_test.h"

namespace capstan::testing {
namespace {

TEST(MomentumTest, IsTheFormula) {
  const Momentum rule = {.learning_rate = 0.05, .momentum = 0.8};
  const Oracle oracle = [](double, double gradient, Element& element) {
    double& velocity = element.slots[0];
    velocity = 0.8 * velocity - 0.05 * gradient;
    element.value += velocity;
  };
  ExpectUpdates(rule, oracle, 7);
  ExpectFollows(rule, oracle);
}

TEST(MomentumTest, WithNesterovIsTheFormula) {
  const Momentum rule = {
      .learning_rate = 0.05, .momentum = 0.8, .nesterov = true};
  const Oracle oracle = [](double, double gradient, Element& element) {
    double& velocity = element.slots[0];
    velocity = 0.8 * velocity - 0.05 * gradient;
    element.value += 0.8 * velocity - 0.05 * gradient;
  };
  ExpectUpdates(rule, oracle, 10);
  ExpectFollows(rule, oracle);
}

TEST(MomentumTest, HasItsSlot) {
  const auto updater = MakeUpdater(Momentum{});
  ASSERT_EQ(updater->slots().size(), 1u);
  EXPECT_EQ(updater->slots()[0].name, "momentum");
  EXPECT_EQ(updater->slots()[0].initial, 0);
}

// What was accumulated at a high rate still counts fully when the rate is 0.
TEST(MomentumTest, TheRateIsInTheVelocity) {
  const auto updater = MakeUpdater(Momentum{
      .learning_rate = PiecewiseConstant{.boundaries = {0}, .values = {0.5, 0}},
      .momentum = 0.5});
  Arrays arrays(1, 1);
  *arrays.value() = 0;
  *arrays.slot(0) = 0;
  const auto gradient = Encode(DType::kF32, {1});
  OptimizerState state;
  for (int i = 0; i < 2; ++i) {
    updater->Dense(updater->Begin(state, 1, 0),
                   UpdateOf(arrays, DType::kF32, gradient));
    updater->Advance(state);
  }
  EXPECT_EQ(*arrays.value(), -0.75f);
}

}  // namespace
}  // namespace capstan::testing
