#include "variable/normal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace capstan {
namespace {

// The distribution function, computed with the math library.
double NormalDistribution(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

TEST(InverseNormalTest, InvertsTheDistributionFunction) {
  // From the far tail to the middle. The error of p relative to the smaller
  // side is z * dz, and both functions are accurate to about 1e-15 in z.
  for (double p = 0x1p-53; p < 0.5; p *= 1.07) {
    const double z = InverseNormal(p);
    const double tolerance = 1e-15 * (10 + 10 * z * z);
    EXPECT_NEAR(NormalDistribution(z) / p, 1, tolerance) << p;
    // Where 1 - p mirrors p to the last bit, so does z.
    if (1 - (1 - p) == p) {
      EXPECT_EQ(InverseNormal(1 - p), -z) << p;
    }
  }
}

TEST(InverseNormalTest, HasTheWellKnownQuantiles) {
  EXPECT_EQ(InverseNormal(0.5), 0);
  EXPECT_NEAR(InverseNormal(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(InverseNormal(0.75), 0.6744897501960817, 1e-14);
  EXPECT_NEAR(InverseNormal(1e-10), -6.361340902404056, 1e-13);
}

TEST(NormalOfTest, IsFiniteAtTheEnds) {
  EXPECT_NEAR(NormalOf(0), -8.2095361516013856, 1e-12);
  EXPECT_EQ(NormalOf(UINT64_MAX), -NormalOf(0));
  EXPECT_NE(NormalOf(uint64_t{1} << 63), 0);
}

TEST(TruncatedNormalOfTest, StaysWithinTwo) {
  EXPECT_NEAR(TruncatedNormalOf(0), -2, 1e-12);
  EXPECT_NEAR(TruncatedNormalOf(UINT64_MAX), 2, 1e-12);
  EXPECT_GE(TruncatedNormalOf(0), -2);
  EXPECT_LE(TruncatedNormalOf(UINT64_MAX), 2);
}

TEST(TruncatedNormalOfTest, HasTheVarianceOfKeras) {
  Random random(1);
  constexpr int kNumbers = 1'000'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kNumbers; ++i) {
    const double z = TruncatedNormalOf(random.NextU64());
    sum += z;
    squares += z * z;
  }
  // Five standard errors: stddev / sqrt(n) for a mean of n numbers; for the
  // squares, whose own stddev is below 1, at most 1 / sqrt(n).
  EXPECT_NEAR(sum / kNumbers, 0, 5 * kTruncatedStddev / 1000);
  EXPECT_NEAR(squares / kNumbers, kTruncatedStddev * kTruncatedStddev, 5e-3);
}

}  // namespace
}  // namespace capstan
