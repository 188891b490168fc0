#include "base/checked_math.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "rapidcheck/gtest.h"

namespace capstan {
namespace {

constexpr int64_t kMinI64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMaxI64 = std::numeric_limits<int64_t>::max();
constexpr uint64_t kMaxU64 = std::numeric_limits<uint64_t>::max();

static_assert(CheckedInteger<int64_t> && CheckedInteger<size_t>);
static_assert(!CheckedInteger<bool> && !CheckedInteger<char>);
static_assert(!CheckedInteger<double>);
static_assert(CheckedAdd<size_t>(1, 2) == 3u);

TEST(CheckedMathTest, AddStopsAtTheLimits) {
  EXPECT_EQ(CheckedAdd<int64_t>(kMaxI64 - 1, 1), kMaxI64);
  EXPECT_EQ(CheckedAdd<int64_t>(kMaxI64, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd<int64_t>(kMinI64, -1), std::nullopt);
  EXPECT_EQ(CheckedAdd<int64_t>(kMinI64, kMaxI64), -1);
  EXPECT_EQ(CheckedAdd<uint64_t>(kMaxU64, 0), kMaxU64);
  EXPECT_EQ(CheckedAdd<uint64_t>(kMaxU64, 1), std::nullopt);
}

TEST(CheckedMathTest, SubStopsAtTheLimits) {
  EXPECT_EQ(CheckedSub<uint64_t>(3, 3), 0u);
  EXPECT_EQ(CheckedSub<uint64_t>(3, 4), std::nullopt);
  EXPECT_EQ(CheckedSub<int64_t>(kMinI64, 1), std::nullopt);
  EXPECT_EQ(CheckedSub<int64_t>(0, kMinI64), std::nullopt);
}

TEST(CheckedMathTest, MulStopsAtTheLimits) {
  EXPECT_EQ(CheckedMul<uint64_t>(1ull << 32, 1ull << 31), 1ull << 63);
  EXPECT_EQ(CheckedMul<uint64_t>(1ull << 32, 1ull << 32), std::nullopt);
  EXPECT_EQ(CheckedMul<int64_t>(kMinI64, -1), std::nullopt);
  EXPECT_EQ(CheckedMul<int64_t>(kMinI64, 1), kMinI64);
  EXPECT_EQ(CheckedMul<size_t>(0, kMaxU64), 0u);
}

// A shape that caused a heap overflow elsewhere: modulo 2^64 the product wraps
// to a small number.
TEST(CheckedMathTest, ShapeThatWrapsIsRefused) {
  std::optional<uint64_t> elements = 1;
  for (uint64_t dim : {4194305ull, 4194305ull, 1048576ull, 4ull}) {
    if (elements) elements = CheckedMul(*elements, dim);
  }
  EXPECT_EQ(elements, std::nullopt);
}

TEST(CheckedMathTest, CastKeepsOnlyWhatFits) {
  EXPECT_EQ(CheckedCast<int>(uint64_t{7}), 7);
  EXPECT_EQ(CheckedCast<int32_t>(int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(CheckedCast<uint64_t>(-1), std::nullopt);
  EXPECT_EQ(CheckedCast<int64_t>(kMaxU64), std::nullopt);
  EXPECT_EQ(CheckedCast<uint8_t>(255), 255);
  EXPECT_EQ(CheckedCast<uint8_t>(256), std::nullopt);
}

// The oracle: a wider type.
RC_GTEST_PROP(CheckedMathProperty, AgreesWithWiderArithmetic,
              (int32_t a, int32_t b)) {
  const int64_t wide_a = a;
  const int64_t wide_b = b;
  RC_ASSERT(CheckedAdd<int32_t>(a, b) == CheckedCast<int32_t>(wide_a + wide_b));
  RC_ASSERT(CheckedSub<int32_t>(a, b) == CheckedCast<int32_t>(wide_a - wide_b));
  RC_ASSERT(CheckedMul<int32_t>(a, b) == CheckedCast<int32_t>(wide_a * wide_b));
}

RC_GTEST_PROP(CheckedMathProperty, UnsignedAgreesWithWiderArithmetic,
              (uint32_t a, uint32_t b)) {
  const uint64_t wide_a = a;
  const uint64_t wide_b = b;
  RC_ASSERT(CheckedAdd<uint32_t>(a, b) ==
            CheckedCast<uint32_t>(wide_a + wide_b));
  RC_ASSERT(CheckedMul<uint32_t>(a, b) ==
            CheckedCast<uint32_t>(wide_a * wide_b));
}

}  // namespace
}  // namespace capstan
