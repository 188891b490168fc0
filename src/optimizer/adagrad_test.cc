#include <gtest/gtest.h>

#include <cmath>

#include "optimizer/rule_test.h"

namespace capstan::testing {
namespace {

TEST(AdagradTest, IsTheFormula) {
  const Adagrad rule = {.learning_rate = 0.05, .epsilon = 1e-3};
  const Oracle oracle = [](double, double gradient, Element& element) {
    double& accumulator = element.slots[0];
    accumulator += gradient * gradient;
    element.value -= 0.05 * gradient / (std::sqrt(accumulator) + 1e-3);
  };
  ExpectUpdates(rule, oracle, 10);
  ExpectFollows(rule, oracle);
}

TEST(AdagradTest, StartsFromItsAccumulator) {
  const auto updater = MakeUpdater(Adagrad{.initial_accumulator = 0.25});
  ASSERT_EQ(updater->slots().size(), 1u);
  EXPECT_EQ(updater->slots()[0].name, "accumulator");
  EXPECT_EQ(updater->slots()[0].initial, 0.25f);
}

TEST(AdagradTest, ZeroOfZeroIsZero) {
  const auto updater = MakeUpdater(Adagrad{.initial_accumulator = 0});
  Arrays arrays(1, 1);
  *arrays.value() = 3;
  *arrays.slot(0) = 0;
  updater->Dense(updater->Begin({}, 1, 0),
                 UpdateOf(arrays, DType::kF32, Encode(DType::kF32, {0})));
  EXPECT_EQ(*arrays.value(), 3);
}

}  // namespace
}  // namespace capstan::testing
