#include "optimizer/accumulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "optimizer/rule_test.h"

namespace capstan {
namespace {

using testing::Encode;
using testing::ForEachTarget;
using testing::RandomNumbers;
using testing::Rounded;

TEST(AccumulateTest, AddsTheScaled) {
  ForEachTarget([](const std::string&) {
    for (size_t size = 0; size <= 70; ++size) {
      for (float scale : {1.0f, -0.3f}) {
        Random random(size);
        // Starts at the second element, so that addresses are not
        // vector-aligned.
        const std::vector<float> in = RandomNumbers(random, size + 1, 0, 1);
        std::vector<float> out = RandomNumbers(random, size + 2, 0, 1);
        std::vector<float> expected = out;
        for (size_t i = 1; i <= size; ++i) {
          const float product = in[i] * scale;
          expected[i] += product;
        }
        Accumulate(std::span(in).subspan(1), scale,
                   std::span(out).subspan(1, size));
        ASSERT_EQ(out, expected) << size;
      }
    }
  });
}

// Sixteen sums of n / 16 terms each, and four more additions.
double Tolerance(size_t n) {
  const size_t additions = n / 16 + 5;
  return static_cast<double>(additions) *
         std::numeric_limits<double>::epsilon();
}

TEST(SumOfSquaresTest, IsTheSum) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (size_t size : {0, 1, 2, 15, 16, 17, 33, 1023, 1024, 1025, 5000}) {
      Random random(size);
      const std::vector<float> values =
          Rounded(dtype, RandomNumbers(random, size, 0, 1));
      double sum = 0;
      for (double value : values) sum += value * value;
      const double actual =
          SumOfSquares(dtype, Encode(dtype, values).data(), size);
      // The naive sum has the error of n additions.
      EXPECT_NEAR(actual, sum, sum * (Tolerance(size) + Tolerance(16 * size)))
          << NameOf(dtype) << " " << size;
    }
  }
}

TEST(SumOfSquaresTest, TheSameAtEveryAddressAndOnEveryTarget) {
  constexpr size_t kSize = 2345;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    Random random(1);
    const std::vector<std::byte> bytes =
        Encode(dtype, RandomNumbers(random, kSize, 0, 1));
    const double expected = SumOfSquares(dtype, bytes.data(), kSize);
    ForEachTarget([&](const std::string&) {
      for (size_t offset = 0; offset < 9; ++offset) {
        std::vector<std::byte> moved(offset);
        moved.insert(moved.end(), bytes.begin(), bytes.end());
        EXPECT_EQ(SumOfSquares(dtype, moved.data() + offset, kSize), expected)
            << NameOf(dtype);
      }
    });
  }
}

TEST(SumOfSquaresTest, LargeNumbersDoNotOverflow) {
  const std::vector<float> values(100, std::numeric_limits<float>::max());
  const double sum = SumOfSquares(
      DType::kF32, std::as_bytes(std::span(values)).data(), values.size());
  EXPECT_DOUBLE_EQ(std::sqrt(sum), 10.0 * std::numeric_limits<float>::max());
}

TEST(SumOfSquaresTest, ANanIsSeen) {
  std::vector<float> values(100, 1);
  values[99] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(SumOfSquares(
      DType::kF32, std::as_bytes(std::span(values)).data(), values.size())));
}

}  // namespace
}  // namespace capstan
