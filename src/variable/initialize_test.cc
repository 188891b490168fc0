#include "variable/initialize.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/hash.h"
#include "tensor/dtype.h"
#include "testing/status_matchers.h"
#include "variable/element_bits.h"
#include "variable/normal.h"
#include "variable/partition.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

VariableSpec Spec(Shape shape, Initializer initializer,
                  DType dtype = DType::kF32) {
  return {
      .name = "w", .shape = shape, .dtype = dtype, .initializer = initializer};
}

Tensor Initial(const VariableSpec& spec) {
  Tensor tensor = Tensor::Uninitialized(spec.dtype, spec.shape);
  EXPECT_OK(Initialize(spec, 0, spec.shape.num_rows(),
                       tensor.mutable_view().mutable_bytes()));
  return tensor;
}

template <typename T = float>
std::vector<T> Values(const VariableSpec& spec) {
  const Tensor tensor = Initial(spec);
  const auto values = tensor.Values<T>();
  return {values.begin(), values.end()};
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
};

template <typename T>
Moments MomentsOf(const std::vector<T>& values) {
  Moments moments;
  const auto count = static_cast<double>(values.size());
  for (T value : values) {
    moments.mean += static_cast<double>(value) / count;
    moments.min = std::min(moments.min, static_cast<double>(value));
    moments.max = std::max(moments.max, static_cast<double>(value));
  }
  for (T value : values) {
    const double off = static_cast<double>(value) - moments.mean;
    moments.variance += off * off / count;
  }
  return moments;
}

constexpr int64_t kCount = 1'000'000;
// Tolerance for a mean of kCount numbers, in standard deviations of one number:
// five standard errors. The seeds are fixed, so these tests never fail by
// chance.
constexpr double kFive = 5e-3;

TEST(InitializeTest, ConstantsOfEveryDtype) {
  for (DType dtype : kAllDTypes) {
    const Tensor zeros = Initial(Spec({3}, Zeros{}, dtype));
    EXPECT_EQ(zeros, Tensor::Zeros(dtype, {3}));
    EXPECT_EQ(Initial(Spec({3}, Unset{}, dtype)), zeros);
    EXPECT_EQ(Initial(Spec({3}, Constant{1}, dtype)),
              Initial(Spec({3}, Ones{}, dtype)));
  }
  EXPECT_THAT(Values<float>(Spec({2}, Ones{})), Each(1.0f));
  EXPECT_THAT(Values<double>(Spec({2}, Constant{0.1}, DType::kF64)), Each(0.1));
  EXPECT_THAT(Values<int32_t>(Spec({2}, Constant{-7}, DType::kI32)), Each(-7));
  EXPECT_THAT(Values<int64_t>(Spec({2}, Constant{0x1p53}, DType::kI64)),
              Each(int64_t{1} << 53));
  EXPECT_THAT(Values<uint8_t>(Spec({2}, Constant{255}, DType::kU8)), Each(255));
  EXPECT_TRUE(Initial(Spec({2}, Ones{}, DType::kBool)).Values<bool>()[1]);
  EXPECT_EQ(Initial(Spec({1}, Ones{}, DType::kF16)).Values<Float16>()[0].bits,
            0x3c00);
  EXPECT_EQ(Initial(Spec({1}, Ones{}, DType::kBF16)).Values<BFloat16>()[0].bits,
            0x3f80);
}

TEST(InitializeTest, ScalarsAndEmptyVariables) {
  EXPECT_THAT(Values(Spec({}, Constant{3})), ElementsAre(3));
  EXPECT_EQ(Values(Spec({}, Normal{.seed = 1})).size(), 1u);
  EXPECT_TRUE(Values(Spec({0, 3}, Uniform{})).empty());
  EXPECT_TRUE(Values(Spec({3, 0}, Zeros{})).empty());
  EXPECT_TRUE(Values(Spec({3, 0}, Orthogonal{})).empty());
}

TEST(InitializeTest, UniformIsEvenWithinItsBounds) {
  const Moments moments =
      MomentsOf(Values(Spec({kCount}, Uniform{-1, 3, uint64_t{1}})));
  EXPECT_NEAR(moments.mean, 1, kFive * 4 / std::sqrt(12));
  // The standard deviation of the square is below twice the variance.
  EXPECT_NEAR(moments.variance, 16.0 / 12, 2 * kFive * 16 / 12);
  // The probability that none of a million is in the last 1/50,000th is e^-20.
  EXPECT_GE(moments.min, -1);
  EXPECT_LT(moments.min, -1 + 4.0 / 50'000);
  EXPECT_LT(moments.max, 3);
  EXPECT_GT(moments.max, 3 - 4.0 / 50'000);
}

TEST(InitializeTest, UniformStaysBelowTheMaximumInEveryDtype) {
  // The dtype has few numbers in this range, so rounding would often reach 1.
  const double min = 0.9;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Tensor tensor =
        Initial(Spec({20'000}, Uniform{min, 1, uint64_t{5}}, dtype));
    for (size_t i = 0; i < 20'000; ++i) {
      const double value =
          dtype == DType::kF32 ? static_cast<double>(tensor.Values<float>()[i])
          : dtype == DType::kF16 ? double{float(tensor.Values<Float16>()[i])}
                                 : double{float(tensor.Values<BFloat16>()[i])};
      ASSERT_GE(value, min) << NameOf(dtype);
      ASSERT_LT(value, 1) << NameOf(dtype);
    }
  }
  // Nor does the sign matter, or an interval that ends at 0.
  const Moments negative = MomentsOf(
      Values(Spec({100'000}, Uniform{-0x1.000002p0, -1, uint64_t{1}})));
  EXPECT_EQ(negative.min, -0x1.000002p0);
  EXPECT_EQ(negative.max, -0x1.000002p0);
  EXPECT_LT(MomentsOf(Values(Spec({100}, Uniform{-3e-45, 0, uint64_t{1}}))).max,
            0);
}

TEST(InitializeTest, UniformOfNoWidthIsConstant) {
  EXPECT_THAT(Values(Spec({5}, Uniform{2, 2})), Each(2));
  // No float in between: the nearest one.
  EXPECT_THAT(Values(Spec({5}, Uniform{0.1, 0.1 + 1e-12})), Each(0.1f));
}

TEST(InitializeTest, NormalIsNormal) {
  const std::vector<float> values =
      Values(Spec({kCount}, Normal{2, 3, uint64_t{1}}));
  const Moments moments = MomentsOf(values);
  EXPECT_NEAR(moments.mean, 2, kFive * 3);
  // The square of a standard normal number has variance 2.
  EXPECT_NEAR(moments.variance, 9, kFive * std::sqrt(2) * 9);
  // The fractions within one, two and three standard deviations; the standard
  // error of a fraction is at most 0.5 / 1000.
  const auto share_within = [&](float bound) {
    const auto within = std::count_if(
        values.begin(), values.end(),
        [&](float value) { return std::abs(value - 2) < 3 * bound; });
    return static_cast<double>(within) / kCount;
  };
  EXPECT_NEAR(share_within(1), 0.682689, 2.5e-3);
  EXPECT_NEAR(share_within(2), 0.954500, 2.5e-3);
  EXPECT_NEAR(share_within(3), 0.997300, 2.5e-3);
  EXPECT_GT(moments.max, 2 + 3 * 4.2);  // so far in a million but for e^-13
}

TEST(InitializeTest, NeighboursAreIndependent) {
  const std::vector<float> values =
      Values(Spec({kCount}, Normal{0, 1, uint64_t{3}}));
  for (size_t lag : {1u, 2u, 3u, 4u, 16u}) {
    double covariance = 0;
    for (size_t i = 0; i + lag < values.size(); ++i) {
      covariance += double{values[i]} * double{values[i + lag]} / kCount;
    }
    EXPECT_NEAR(covariance, 0, kFive) << lag;
  }
}

TEST(InitializeTest, TruncatedNormalHasNoTails) {
  const Moments moments =
      MomentsOf(Values(Spec({kCount}, TruncatedNormal{2, 3, uint64_t{1}})));
  const double stddev = 3 * kTruncatedStddev;
  EXPECT_NEAR(moments.mean, 2, kFive * stddev);
  EXPECT_NEAR(moments.variance, stddev * stddev, 2 * kFive * stddev * stddev);
  EXPECT_GE(moments.min, 2 - 6);
  EXPECT_LE(moments.max, 2 + 6);
  EXPECT_LT(moments.min, 2 - 5.99);
  EXPECT_GT(moments.max, 2 + 5.99);
}

TEST(InitializeTest, GlorotAndHeHaveTheVarianceOfTheirFans) {
  const auto check = [](Shape shape, Initializer initializer, double variance,
                        double farthest) {
    const std::vector<float> values = Values(Spec(shape, initializer));
    const Moments moments = MomentsOf(values);
    const double error = 5 / std::sqrt(static_cast<double>(values.size()));
    EXPECT_NEAR(moments.mean, 0, error * std::sqrt(variance));
    EXPECT_NEAR(moments.variance, variance, 2 * error * variance);
    EXPECT_GE(moments.min, -farthest);
    EXPECT_LE(moments.max, farthest);
    EXPECT_GT(moments.max, 0.99 * farthest);
  };
  const auto uniform = [](double variance) { return std::sqrt(3 * variance); };
  const auto normal = [](double variance) {
    return 2.0001 * std::sqrt(variance) / kTruncatedStddev;
  };
  const Shape matrix = {300, 500};  // fans 300 and 500
  check(matrix, GlorotUniform{}, 1.0 / 400, uniform(1.0 / 400));
  check(matrix, GlorotNormal{}, 1.0 / 400, normal(1.0 / 400));
  check(matrix, HeUniform{}, 2.0 / 300, uniform(2.0 / 300));
  check(matrix, HeNormal{}, 2.0 / 300, normal(2.0 / 300));
  const Shape kernel = {3, 3, 64, 128};  // fans 576 and 1152
  check(kernel, GlorotUniform{}, 1.0 / 864, uniform(1.0 / 864));
  check(kernel, HeNormal{}, 2.0 / 576, normal(2.0 / 576));
}

TEST(InitializeTest, OrthogonalColumnsAreOrthonormalTimesTheGain) {
  // As a 6 x 4 matrix.
  const std::vector<double> values =
      Values<double>(Spec({2, 3, 4}, Orthogonal{.gain = 2}, DType::kF64));
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < 4; ++b) {
      double dot = 0;
      for (size_t i = 0; i < 6; ++i)
        dot += values[i * 4 + a] * values[i * 4 + b];
      EXPECT_NEAR(dot, a == b ? 4 : 0, 1e-14);
    }
  }
}

TEST(InitializeTest, OrthogonalNeedsAllRows) {
  const VariableSpec spec = Spec({4, 2}, Orthogonal{});
  std::vector<std::byte> out(16);
  EXPECT_THAT(
      Initialize(spec, 0, 2, out),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("variable \"w\""), HasSubstr("Orthogonal"))));
}

TEST(InitializeTest, RefusesWhatDoesNotFit) {
  const VariableSpec spec = Spec({4, 2}, Zeros{});
  std::vector<std::byte> out(8);
  EXPECT_OK(Initialize(spec, 3, 4, out));
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("variable \"w\""));
  EXPECT_THAT(Initialize(spec, 0, 2, out), refused);
  EXPECT_THAT(Initialize(spec, 4, 5, out), refused);
  EXPECT_THAT(Initialize(spec, -1, 0, out), refused);
  EXPECT_THAT(Initialize(spec, 2, 1, out), refused);
  EXPECT_THAT(Initialize(Spec({2}, Normal{}, DType::kI32), 0, 2, out), refused);
}

TEST(InitializeTest, TheDefaultSeedIsTheName) {
  VariableSpec spec = Spec({8}, Uniform{});
  const std::vector<float> values = Values(spec);
  spec.initializer = Uniform{.seed = Hash64("w")};
  EXPECT_EQ(Values(spec), values);
  spec.initializer = Uniform{};
  spec.name = "v";
  EXPECT_NE(Values(spec), values);
}

TEST(InitializeTest, NarrowTypesAreRoundedFromTheSameNumbers) {
  const Initializer normal = Normal{0, 1, uint64_t{9}};
  const auto wide = Values<double>(Spec({100}, normal, DType::kF64));
  const auto single = Values<float>(Spec({100}, normal, DType::kF32));
  const auto half = Values<Float16>(Spec({100}, normal, DType::kF16));
  const auto brain = Values<BFloat16>(Spec({100}, normal, DType::kBF16));
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(single[i], static_cast<float>(wide[i]));
    EXPECT_EQ(half[i].bits, Float16(single[i]).bits);
    EXPECT_EQ(brain[i].bits, BFloat16(single[i]).bits);
  }
}

TEST(InitializeTest, BitsOfElementsDependOnTheIndexAlone) {
  for (uint64_t begin : {0u, 1u, 2u, 5u}) {
    for (uint64_t end : {5u, 6u, 9u}) {
      uint64_t index = begin;
      ForEachElementBits(7, begin, end, [&](uint64_t bits) {
        EXPECT_EQ(bits, ElementBits(7, index++));
      });
      EXPECT_EQ(index, std::max(begin, end));
    }
  }
}

// Experiments' checkpoints and bug reports depend on these.
TEST(InitializeTest, ValuesNeverChange) {
  const auto first = [](Initializer initializer) {
    std::vector<float> values = Values(Spec({6, 4}, initializer));
    return std::vector<float>(values.begin(), values.begin() + 3);
  };
  const uint64_t seed = 42;
  EXPECT_THAT(first(Uniform{-1, 1, seed}),
              ElementsAre(0.439647168f, -0.258592576f, -0.50389111f));
  EXPECT_THAT(first(Uniform{}),
              ElementsAre(-0.00914260652f, -0.0277556051f, -0.0387747698f));
  EXPECT_THAT(first(Normal{0, 1, seed}),
              ElementsAre(0.582317531f, -0.329990119f, -0.680624902f));
  EXPECT_THAT(first(TruncatedNormal{0, 1, seed}),
              ElementsAre(0.552863479f, -0.314457655f, -0.644832015f));
  EXPECT_THAT(first(GlorotUniform{seed}),
              ElementsAre(0.340549231f, -0.20030494f, -0.390312374f));
  EXPECT_THAT(first(GlorotNormal{seed}),
              ElementsAre(0.281083286f, -0.159874529f, -0.327841312f));
  EXPECT_THAT(first(HeUniform{seed}),
              ElementsAre(0.439647168f, -0.258592576f, -0.50389111f));
  EXPECT_THAT(first(HeNormal{seed}),
              ElementsAre(0.362876981f, -0.206397131f, -0.423241317f));
  EXPECT_THAT(first(Orthogonal{1, seed}),
              ElementsAre(0.243066996f, -0.14239724f, -0.122170009f));
  // All bits of many values, including the tails of the normal distribution.
  const auto hash = [](Initializer initializer, DType dtype) {
    return Hash64(
        Initial(Spec({1000, 100}, initializer, dtype)).view().bytes());
  };
  EXPECT_EQ(hash(Uniform{-1, 1, seed}, DType::kF32), 0xb53a6aa233281ebc);
  EXPECT_EQ(hash(Normal{0, 1, seed}, DType::kF64), 0x571999074fc59e5a);
  EXPECT_EQ(hash(TruncatedNormal{0, 1, seed}, DType::kF64), 0xf8c878b69c3d974c);
  EXPECT_EQ(hash(Orthogonal{1, seed}, DType::kF64), 0xd836db30cd32f285);
}

RC_GTEST_PROP(InitializeProperty, TheCutDoesNotMatter, ()) {
  const auto rows = *rc::gen::inRange<int64_t>(1, 60);
  const auto columns = *rc::gen::inRange<int64_t>(1, 8);
  const auto initializer = *rc::gen::element<Initializer>(
      Zeros{}, Ones{}, Constant{0.25}, Uniform{}, Normal{}, TruncatedNormal{},
      GlorotUniform{}, GlorotNormal{}, HeUniform{}, HeNormal{}, Unset{});
  const auto dtype =
      *rc::gen::element(DType::kF32, DType::kF64, DType::kF16, DType::kBF16);
  const VariableSpec spec = Spec({rows, columns}, initializer, dtype);
  const Tensor whole = Initial(spec);

  // Any split, and memory of any alignment.
  const size_t row_bytes = static_cast<size_t>(columns) * SizeOf(dtype);
  std::vector<std::byte> parts(static_cast<size_t>(rows) * row_bytes + 1);
  const MutableBytes out = MutableBytes(parts).subspan(1);
  for (int64_t begin = 0; begin < rows;) {
    const auto end = *rc::gen::inRange<int64_t>(begin + 1, rows + 1);
    RC_ASSERT(
        Initialize(spec, begin, end,
                   out.subspan(static_cast<size_t>(begin) * row_bytes,
                               static_cast<size_t>(end - begin) * row_bytes))
            .ok());
    begin = end;
  }
  const Bytes expected = whole.view().bytes();
  RC_ASSERT(
      std::equal(out.begin(), out.end(), expected.begin(), expected.end()));
}

}  // namespace
}  // namespace capstan
