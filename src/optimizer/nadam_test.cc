#include <gtest/gtest.h>

#include <cmath>

#include "optimizer/rule_test.h"

namespace capstan::testing {
namespace {

double MomentumAt(double t) {
  return 0.8 * (1 - 0.5 * std::pow(0.96, t * 0.01));
}

TEST(NadamTest, IsTheFormula) {
  const Nadam rule = {.learning_rate = 0.05,
                      .beta1 = 0.8,
                      .beta2 = 0.99,
                      .epsilon = 1e-3,
                      .momentum_decay = 0.01};
  const Oracle oracle = [](double t, double gradient, Element& element) {
    double product = 1;
    for (int i = 1; i <= t; ++i) product *= MomentumAt(i);
    const double next = MomentumAt(t + 1);
    double& m = element.slots[0];
    double& v = element.slots[1];
    m = 0.8 * m + 0.2 * gradient;
    v = 0.99 * v + 0.01 * gradient * gradient;
    const double m_hat = next * m / (1 - product * next) +
                         (1 - MomentumAt(t)) * gradient / (1 - product);
    const double v_hat = v / (1 - std::pow(0.99, t));
    element.value -= 0.05 * m_hat / (std::sqrt(v_hat) + 1e-3);
  };
  ExpectUpdates(rule, oracle, 18);
  ExpectFollows(rule, oracle);
}

TEST(NadamTest, RemembersTheProductOfItsMomenta) {
  const auto updater = MakeUpdater(Nadam{.beta1 = 0.8, .momentum_decay = 0.01});
  OptimizerState state;
  updater->Advance(state);
  updater->Advance(state);
  EXPECT_EQ(state.updates, 2u);
  EXPECT_DOUBLE_EQ(state.momentum_product, MomentumAt(1) * MomentumAt(2));
}

TEST(NadamTest, HasItsSlots) {
  const auto updater = MakeUpdater(Nadam{});
  ASSERT_EQ(updater->slots().size(), 2u);
  EXPECT_EQ(updater->slots()[0].name, "m");
  EXPECT_EQ(updater->slots()[1].name, "v");
}

}  // namespace
}  // namespace capstan::testing
