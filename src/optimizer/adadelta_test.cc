#include <gtest/gtest.h>

#include <cmath>

#include "optimizer/rule_test.h"

namespace capstan::testing {
namespace {

TEST(AdadeltaTest, IsTheFormula) {
  const Adadelta rule = {.learning_rate = 0.05, .rho = 0.9, .epsilon = 1e-3};
  const Oracle oracle = [](double, double gradient, Element& element) {
    double& mean_square = element.slots[0];
    double& mean_change = element.slots[1];
    mean_square = 0.9 * mean_square + 0.1 * gradient * gradient;
    const double change = std::sqrt(mean_change + 1e-3) /
                          std::sqrt(mean_square + 1e-3) * gradient;
    element.value -= 0.05 * change;
    mean_change = 0.9 * mean_change + 0.1 * change * change;
  };
  // A gradient of 2 causes a change of up to 5, whose square is kept.
  ExpectUpdates(rule, oracle, 40);
  ExpectFollows(rule, oracle);
}

TEST(AdadeltaTest, HasItsSlots) {
  const auto updater = MakeUpdater(Adadelta{});
  ASSERT_EQ(updater->slots().size(), 2u);
  EXPECT_EQ(updater->slots()[0].name, "mean_square");
  EXPECT_EQ(updater->slots()[1].name, "mean_change");
}

}  // namespace
}  // namespace capstan::testing
