#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "optimizer/rule_test.h"

namespace capstan::testing {
namespace {

TEST(AdamaxTest, IsTheFormula) {
  const Adamax rule = {
      .learning_rate = 0.05, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3};
  const Oracle oracle = [](double t, double gradient, Element& element) {
    double& m = element.slots[0];
    double& u = element.slots[1];
    m = 0.8 * m + 0.2 * gradient;
    u = std::max(0.9 * u, std::fabs(gradient));
    element.value -= 0.05 / (1 - std::pow(0.8, t)) * m / (u + 1e-3);
  };
  ExpectUpdates(rule, oracle, 13);
  ExpectFollows(rule, oracle);
}

TEST(AdamaxTest, HasItsSlots) {
  const auto updater = MakeUpdater(Adamax{});
  ASSERT_EQ(updater->slots().size(), 2u);
  EXPECT_EQ(updater->slots()[0].name, "m");
  EXPECT_EQ(updater->slots()[1].name, "u");
}

}  // namespace
}  // namespace capstan::testing
