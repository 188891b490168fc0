#include "optimizer/validate.h"

#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(ValidateTest, DefaultsAreValid) {
  const Optimizer optimizers[] = {Sgd{},     Momentum{}, Adagrad{}, Adadelta{},
                                  RmsProp{}, Adam{},     AdamW{},   Adamax{},
                                  Nadam{},   Ftrl{}};
  for (const Optimizer& optimizer : optimizers) EXPECT_OK(Validate(optimizer));
}

TEST(ValidateTest, SchedulesAreValid) {
  const LearningRate rates[] = {
      0.0,
      1.0,
      ExponentialDecay{},
      PolynomialDecay{},
      InverseTimeDecay{},
      PiecewiseConstant{.values = {1}},
      PiecewiseConstant{.boundaries = {1, 2}, .values = {3, 2, 0}},
      CosineDecay{},
      CosineDecay{.warmup_steps = 5}};
  for (const LearningRate& rate : rates) {
    EXPECT_OK(Validate(Sgd{.learning_rate = rate})) << rate.index();
  }
}

struct Mistake {
  Optimizer optimizer;
  std::string field;  // "field is value"
};

void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.field;
}

class MistakeTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, IsNamed) {
  EXPECT_THAT(Validate(GetParam().optimizer),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().field)));
}

Optimizer With(double Optimizer::*field, double value) {
  Optimizer optimizer;
  optimizer.*field = value;
  return optimizer;
}

Optimizer Rate(const LearningRate& rate) { return Sgd{.learning_rate = rate}; }

INSTANTIATE_TEST_SUITE_P(
    LearningRates, MistakeTest,
    ::testing::Values(
        Mistake{Rate(-0.1), "sgd: learning_rate is -0.1"},
        Mistake{Rate(kNan), "learning_rate is nan"},
        Mistake{Rate(kInf), "learning_rate is inf"},
        // Finite, but not as f32.
        Mistake{Rate(1e39), "learning_rate is 1e+39"},
        Mistake{Rate(ExponentialDecay{.initial = -1}),
                "learning_rate.initial is -1"},
        Mistake{Rate(ExponentialDecay{.steps = 0}), "learning_rate.steps is 0"},
        Mistake{Rate(ExponentialDecay{.rate = -2}), "learning_rate.rate is -2"},
        Mistake{Rate(PolynomialDecay{.initial = kNan}),
                "learning_rate.initial is nan"},
        Mistake{Rate(PolynomialDecay{.steps = -5}),
                "learning_rate.steps is -5"},
        Mistake{Rate(PolynomialDecay{.end = -1}), "learning_rate.end is -1"},
        Mistake{Rate(PolynomialDecay{.power = -1}),
                "learning_rate.power is -1"},
        Mistake{Rate(InverseTimeDecay{.initial = -1}),
                "learning_rate.initial is -1"},
        Mistake{Rate(InverseTimeDecay{.steps = 0}), "learning_rate.steps is 0"},
        Mistake{Rate(InverseTimeDecay{.rate = kInf}),
                "learning_rate.rate is inf"},
        Mistake{Rate(CosineDecay{.initial = -1}),
                "learning_rate.initial is -1"},
        Mistake{Rate(CosineDecay{.steps = 0}), "learning_rate.steps is 0"},
        Mistake{Rate(CosineDecay{.alpha = -1}), "learning_rate.alpha is -1"},
        Mistake{Rate(CosineDecay{.warmup_steps = -1}),
                "learning_rate.warmup_steps is -1"}));

INSTANTIATE_TEST_SUITE_P(
    Pieces, MistakeTest,
    ::testing::Values(
        Mistake{Rate(PiecewiseConstant{}),
                "learning_rate has 0 values and 0 boundaries"},
        Mistake{Rate(PiecewiseConstant{.boundaries = {1}, .values = {1}}),
                "learning_rate has 1 values and 1 boundaries"},
        Mistake{
            Rate(PiecewiseConstant{.boundaries = {2, 2}, .values = {1, 2, 3}}),
            "learning_rate.boundaries[1] is 2"},
        Mistake{Rate(PiecewiseConstant{.boundaries = {2}, .values = {1, kNan}}),
                "learning_rate.values[1] is nan"}));

INSTANTIATE_TEST_SUITE_P(
    Rules, MistakeTest,
    ::testing::Values(
        Mistake{Momentum{.momentum = 1}, "momentum: momentum is 1"},
        Mistake{Momentum{.momentum = -0.5}, "momentum is -0.5"},
        Mistake{Adagrad{.initial_accumulator = -1},
                "adagrad: initial_accumulator is -1"},
        Mistake{Adagrad{.epsilon = 0}, "epsilon is 0"},
        Mistake{Adadelta{.rho = 1}, "adadelta: rho is 1"},
        Mistake{Adadelta{.epsilon = -1}, "epsilon is -1"},
        Mistake{RmsProp{.rho = kNan}, "rmsprop: rho is nan"},
        Mistake{RmsProp{.momentum = 2}, "momentum is 2"},
        Mistake{RmsProp{.epsilon = kInf}, "epsilon is inf"},
        Mistake{Adam{.beta1 = 1}, "adam: beta1 is 1"},
        // Below 1, but not as f32.
        Mistake{Adam{.beta2 = 1 - 1e-12}, "beta2 is 0.999999999999"},
        Mistake{Adam{.epsilon = kNan}, "epsilon is nan"},
        Mistake{Adam{.row_moments = RowMoments{7}}, "row_moments is 7"},
        Mistake{AdamW{.weight_decay = -1}, "adamw: weight_decay is -1"},
        Mistake{AdamW{.beta1 = -0.1}, "beta1 is -0.1"},
        Mistake{AdamW{.row_moments = RowMoments{7}}, "row_moments is 7"},
        Mistake{Adamax{.beta2 = 1.5}, "adamax: beta2 is 1.5"},
        Mistake{Nadam{.beta1 = 1}, "nadam: beta1 is 1"},
        Mistake{Nadam{.momentum_decay = -1}, "momentum_decay is -1"}));

INSTANTIATE_TEST_SUITE_P(
    Ftrl, MistakeTest,
    ::testing::Values(Mistake{Ftrl{.learning_rate_power = 0.5},
                              "ftrl: learning_rate_power is 0.5"},
                      Mistake{Ftrl{.learning_rate_power = kNan},
                              "learning_rate_power is nan"},
                      Mistake{Ftrl{.initial_accumulator = -1},
                              "initial_accumulator is -1"},
                      Mistake{Ftrl{.l1 = -1}, "l1 is -1"},
                      Mistake{Ftrl{.l2 = -1}, "l2 is -1"},
                      Mistake{Ftrl{.l2_shrinkage = -1}, "l2_shrinkage is -1"},
                      Mistake{Ftrl{.beta = -1}, "beta is -1"}));

INSTANTIATE_TEST_SUITE_P(
    Common, MistakeTest,
    ::testing::Values(
        Mistake{With(&Optimizer::weight_decay, -1), "weight_decay is -1"},
        Mistake{With(&Optimizer::clip_value, -1), "clip_value is -1"},
        Mistake{With(&Optimizer::clip_norm, kInf), "clip_norm is inf"},
        Mistake{With(&Optimizer::global_clip_norm, -2),
                "global_clip_norm is -2"},
        Mistake{With(&Optimizer::staleness_power, kNan),
                "staleness_power is nan"}));

TEST(ValidateTest, SaysWhatItHasToBe) {
  EXPECT_THAT(Validate(Adam{.beta1 = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "adam: beta1 is 1, and must be in [0, 1)"));
}

}  // namespace
}  // namespace capstan
