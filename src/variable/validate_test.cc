#include "variable/validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

VariableSpec Good() {
  return {.name = "table",
          .shape = {10, 4},
          .initializer = Uniform{},
          .optimizer = Adagrad{.learning_rate = 0.05}};
}

VariableSpec With(Initializer initializer, DType dtype = DType::kF32) {
  VariableSpec spec = Good();
  spec.initializer = initializer;
  spec.dtype = dtype;
  if (dtype != DType::kF32) spec.optimizer.reset();
  return spec;
}

auto RefusedFor(const std::string& why) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  AllOf(HasSubstr("variable \"table\""), HasSubstr(why)));
}

TEST(ValidateSpecTest, AcceptsWhatMakesSense) {
  EXPECT_OK(ValidateSpec(Good()));
  VariableSpec spec = Good();
  spec.update = Sync{.replicas = 4, .backup = 1};
  spec.colocate_with = "other";
  spec.aggregation = Aggregation::kOnlyFirstReplica;
  spec.non_finite = NonFinite::kAccept;
  spec.trainable = false;
  EXPECT_OK(ValidateSpec(spec));
  spec.update = BoundedStaleness{.replicas = 4, .bound = 0};
  spec.shape = {};
  EXPECT_OK(ValidateSpec(spec));
  spec.shape = {0, 4};
  EXPECT_OK(ValidateSpec(spec));
}

TEST(ValidateSpecTest, TheNameIsChecked) {
  VariableSpec spec = Good();
  spec.name = "";
  EXPECT_THAT(ValidateSpec(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("without a name")));
  spec.name = "a\n";
  EXPECT_THAT(ValidateSpec(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("\"a\\n\"")));
}

TEST(ValidateSpecTest, TheDtypeIsOne) {
  EXPECT_THAT(ValidateSpec(With(Zeros{}, static_cast<DType>(77))),
              RefusedFor("dtype is 77, which is none"));
}

TEST(ValidateSpecTest, OptimizersNeedF32) {
  for (DType dtype : kAllDTypes) {
    VariableSpec spec = With(Zeros{}, dtype);
    EXPECT_OK(ValidateSpec(spec));
    spec.optimizer = Sgd{};
    if (dtype == DType::kF32) {
      EXPECT_OK(ValidateSpec(spec));
    } else {
      EXPECT_THAT(ValidateSpec(spec), RefusedFor("optimizer: the dtype is " +
                                                 std::string(NameOf(dtype))));
    }
  }
}

TEST(ValidateSpecTest, TheOptimizersParametersAreChecked) {
  VariableSpec spec = Good();
  spec.optimizer = Sgd{.learning_rate = -1.0};
  EXPECT_THAT(ValidateSpec(spec), RefusedFor("optimizer: "));
  spec.optimizer = Adam{.beta1 = kNan};
  EXPECT_THAT(ValidateSpec(spec), RefusedFor("beta1"));
}

TEST(ValidateSpecTest, ParametersOfInitializersAreFinite) {
  for (double bad : {kNan, kInf, -kInf, 1e39}) {
    EXPECT_THAT(ValidateSpec(With(Constant{bad})),
                RefusedFor("initializer Constant: value is "));
    EXPECT_THAT(ValidateSpec(With(Uniform{.min = bad})),
                RefusedFor("initializer Uniform: min is "));
    EXPECT_THAT(ValidateSpec(With(Uniform{.max = bad})),
                RefusedFor("initializer Uniform: max is "));
    EXPECT_THAT(ValidateSpec(With(Normal{.mean = bad})),
                RefusedFor("initializer Normal: mean is "));
    EXPECT_THAT(ValidateSpec(With(Normal{.stddev = bad})),
                RefusedFor("initializer Normal: stddev is "));
    EXPECT_THAT(ValidateSpec(With(TruncatedNormal{.stddev = bad})),
                RefusedFor("initializer TruncatedNormal: stddev is "));
    EXPECT_THAT(ValidateSpec(With(Orthogonal{.gain = bad})),
                RefusedFor("initializer Orthogonal: gain is "));
  }
}

TEST(ValidateSpecTest, RangesAreNotUpsideDown) {
  EXPECT_OK(ValidateSpec(With(Uniform{.min = 1, .max = 1})));
  EXPECT_THAT(ValidateSpec(With(Uniform{.min = 1, .max = 0.5})),
              RefusedFor("max is 0.5; it must not be below min, 1"));
  EXPECT_OK(ValidateSpec(With(Normal{.stddev = 0})));
  EXPECT_THAT(ValidateSpec(With(Normal{.stddev = -0.1})),
              RefusedFor("stddev is -0.1; it must be at least 0"));
  EXPECT_THAT(
      ValidateSpec(With(Uniform{.min = -1.7e308, .max = 1.7e308}, DType::kF64)),
      RefusedFor("too far from min"));
}

TEST(ValidateSpecTest, ValuesFitTheDtype) {
  EXPECT_OK(ValidateSpec(With(Constant{65504}, DType::kF16)));
  EXPECT_THAT(ValidateSpec(With(Constant{70000}, DType::kF16)),
              RefusedFor("value is 70000; it must be finite in f16"));
  EXPECT_OK(ValidateSpec(With(Constant{1e300}, DType::kF64)));
  EXPECT_OK(ValidateSpec(With(Constant{3e38}, DType::kBF16)));
  EXPECT_THAT(ValidateSpec(With(Constant{3.4e38}, DType::kBF16)),
              RefusedFor("finite in bf16"));
  EXPECT_OK(ValidateSpec(With(Normal{.stddev = 1000}, DType::kF16)));
  EXPECT_THAT(ValidateSpec(With(Normal{.stddev = 10000}, DType::kF16)),
              RefusedFor("would be infinite in f16"));
}

TEST(ValidateSpecTest, ConstantsOfIntegersAreWholeAndInRange) {
  const auto good = [](double value, DType dtype) {
    EXPECT_OK(ValidateSpec(With(Constant{value}, dtype)));
  };
  const auto bad = [](double value, DType dtype) {
    EXPECT_THAT(ValidateSpec(With(Constant{value}, dtype)),
                RefusedFor("must be a whole number that " +
                           std::string(NameOf(dtype)) + " can hold"));
  };
  good(-2147483648.0, DType::kI32);
  good(2147483647.0, DType::kI32);
  bad(2147483648.0, DType::kI32);
  bad(0.5, DType::kI32);
  bad(kNan, DType::kI32);
  good(-0x1p63, DType::kI64);
  bad(0x1p63, DType::kI64);
  bad(kInf, DType::kI64);
  good(255, DType::kU8);
  bad(256, DType::kU8);
  bad(-1, DType::kU8);
  good(0, DType::kBool);
  good(1, DType::kBool);
  bad(2, DType::kBool);
}

TEST(ValidateSpecTest, RandomNumbersNeedAFloatingDtype) {
  const std::vector<Initializer> random = {
      Uniform{},      Normal{},    TruncatedNormal{}, GlorotUniform{},
      GlorotNormal{}, HeUniform{}, HeNormal{},        Orthogonal{}};
  for (const Initializer& initializer : random) {
    for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
      EXPECT_OK(ValidateSpec(With(initializer, dtype)));
    }
    for (DType dtype : {DType::kI32, DType::kI64, DType::kU8, DType::kBool}) {
      EXPECT_THAT(ValidateSpec(With(initializer, dtype)),
                  RefusedFor("the dtype is " + std::string(NameOf(dtype))));
    }
  }
  for (DType dtype : kAllDTypes) {
    EXPECT_OK(ValidateSpec(With(Zeros{}, dtype)));
    EXPECT_OK(ValidateSpec(With(Ones{}, dtype)));
    EXPECT_OK(ValidateSpec(With(Unset{}, dtype)));
  }
}

TEST(ValidateSpecTest, OrthogonalNeedsTwoAxes) {
  VariableSpec spec = With(Orthogonal{});
  spec.shape = {10};
  EXPECT_THAT(ValidateSpec(spec),
              RefusedFor("the shape is [10]; it needs at least two axes"));
  spec.shape = {3, 3, 2};
  EXPECT_OK(ValidateSpec(spec));
}

TEST(ValidateSpecTest, ModesHaveReplicas) {
  const auto check = [](UpdateMode update) {
    VariableSpec spec = Good();
    spec.update = update;
    return ValidateSpec(spec);
  };
  EXPECT_THAT(check(Sync{.replicas = 0}),
              RefusedFor("update Sync.replicas is 0; it must be in [1, "));
  EXPECT_THAT(check(Sync{.replicas = INT32_MAX}), RefusedFor("Sync.replicas"));
  EXPECT_THAT(check(Sync{.backup = -1}),
              RefusedFor("update Sync.backup is -1; it must be in [0, "));
  EXPECT_THAT(check(BoundedStaleness{.replicas = -3}),
              RefusedFor("update BoundedStaleness.replicas is -3"));
  EXPECT_THAT(check(BoundedStaleness{.bound = -1}),
              RefusedFor("update BoundedStaleness.bound is -1"));
}

TEST(ValidateSpecTest, NumbersThatAreNoEnumAreRefused) {
  VariableSpec spec = Good();
  spec.aggregation = static_cast<Aggregation>(3);
  EXPECT_THAT(ValidateSpec(spec), RefusedFor("aggregation is 3"));
  spec = Good();
  spec.non_finite = static_cast<NonFinite>(200);
  EXPECT_THAT(ValidateSpec(spec), RefusedFor("non_finite is 200"));
}

TEST(ValidateSpecTest, ColocationNamesAnother) {
  VariableSpec spec = Good();
  spec.colocate_with = "table";
  EXPECT_THAT(ValidateSpec(spec),
              RefusedFor("colocate_with names the variable itself"));
  spec.colocate_with = "a\tb";
  EXPECT_THAT(ValidateSpec(spec), RefusedFor("colocate_with: "));
}

}  // namespace
}  // namespace capstan
