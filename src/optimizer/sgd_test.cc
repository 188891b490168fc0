#include <gtest/gtest.h>

#include "optimizer/rule_test.h"

namespace capstan::testing {
namespace {

TEST(SgdTest, IsTheFormula) {
  const Sgd rule = {.learning_rate = 0.05};
  const Oracle oracle = [](double, double gradient, Element& element) {
    element.value -= 0.05 * gradient;
  };
  ExpectUpdates(rule, oracle, 5);
  ExpectFollows(rule, oracle);
}

TEST(SgdTest, HasNoSlots) { EXPECT_TRUE(MakeUpdater(Sgd{})->slots().empty()); }

}  // namespace
}  // namespace capstan::testing
