#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "optimizer/rule_test.h"

namespace capstan::testing {
namespace {

constexpr double kRate = 0.05;

Oracle OracleOf(bool amsgrad, double weight_decay) {
  return [=](double t, double gradient, Element& element) {
    double& m = element.slots[0];
    double& v = element.slots[1];
    element.value -= kRate * weight_decay * element.value;
    m = 0.8 * m + 0.2 * gradient;
    v = 0.99 * v + 0.01 * gradient * gradient;
    double square = v;
    if (amsgrad) square = element.slots[2] = std::max(element.slots[2], v);
    const double m_hat = m / (1 - std::pow(0.8, t));
    const double square_hat = square / (1 - std::pow(0.99, t));
    element.value -= kRate * m_hat / (std::sqrt(square_hat) + 1e-3);
  };
}

Adam AdamOf(bool amsgrad) {
  return {.learning_rate = kRate,
          .beta1 = 0.8,
          .beta2 = 0.99,
          .epsilon = 1e-3,
          .amsgrad = amsgrad};
}

AdamW AdamWOf(bool amsgrad) {
  return {.learning_rate = kRate,
          .weight_decay = 0.1,
          .beta1 = 0.8,
          .beta2 = 0.99,
          .epsilon = 1e-3,
          .amsgrad = amsgrad};
}

TEST(AdamTest, IsTheFormula) {
  ExpectUpdates(AdamOf(false), OracleOf(false, 0), 16);
  ExpectFollows(AdamOf(false), OracleOf(false, 0));
}

TEST(AdamTest, WithAmsgradIsTheFormula) {
  ExpectUpdates(AdamOf(true), OracleOf(true, 0), 16);
  ExpectFollows(AdamOf(true), OracleOf(true, 0));
}

TEST(AdamWTest, IsTheFormula) {
  ExpectUpdates(AdamWOf(false), OracleOf(false, 0.1), 18);
  ExpectFollows(AdamWOf(false), OracleOf(false, 0.1));
}

TEST(AdamWTest, WithAmsgradIsTheFormula) {
  ExpectUpdates(AdamWOf(true), OracleOf(true, 0.1), 18);
  ExpectFollows(AdamWOf(true), OracleOf(true, 0.1));
}

TEST(AdamTest, HasItsSlots) {
  const auto plain = MakeUpdater(AdamOf(false));
  ASSERT_EQ(plain->slots().size(), 2u);
  EXPECT_EQ(plain->slots()[0].name, "m");
  EXPECT_EQ(plain->slots()[1].name, "v");
  const auto amsgrad = MakeUpdater(AdamOf(true));
  ASSERT_EQ(amsgrad->slots().size(), 3u);
  EXPECT_EQ(amsgrad->slots()[2].name, "v_max");
}

// Without weight decay, AdamW must equal Adam bit for bit.
TEST(AdamWTest, WithoutDecayIsAdam) {
  AdamW rule = AdamWOf(false);
  rule.weight_decay = 0;
  const auto adam = MakeUpdater(AdamOf(false));
  const auto adamw = MakeUpdater(rule);
  Arrays expected = Arrays::Random(*adam, 100, 1);
  Arrays actual = expected;
  Random random(1);
  const auto gradient = Encode(DType::kF32, RandomNumbers(random, 100, 0, 1));
  adam->Dense(adam->Begin({}, 1, 0), UpdateOf(expected, DType::kF32, gradient));
  adamw->Dense(adamw->Begin({}, 1, 0), UpdateOf(actual, DType::kF32, gradient));
  ExpectSame(actual, expected);
}

}  // namespace
}  // namespace capstan::testing
