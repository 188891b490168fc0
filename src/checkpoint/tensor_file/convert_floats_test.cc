#include "checkpoint/tensor_file/convert_floats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

template <typename To, typename From>
absl::StatusOr<To> As(From value) {
  To result;
  CAPSTAN_RETURN_IF_ERROR(ConvertFloats(
      DTypeOf<From>(), std::as_bytes(std::span(&value, 1)), DTypeOf<To>(),
      std::as_writable_bytes(std::span(&result, 1))));
  return result;
}

TEST(ConvertFloatsTest, WhatFitsIsExact) {
  for (const float value : {0.0f, -0.0f, 1.0f, -2.5f, 0.09375f}) {
    EXPECT_EQ(static_cast<float>(*As<Float16>(double{value})), value);
    EXPECT_EQ(static_cast<float>(*As<BFloat16>(value)), value);
    EXPECT_EQ(*As<double>(Float16(value)), value);
    EXPECT_EQ(*As<double>(BFloat16(value)), value);
    EXPECT_EQ(*As<float>(double{value}), value);
    EXPECT_EQ(static_cast<float>(*As<BFloat16>(Float16(value))), value);
    EXPECT_EQ(static_cast<float>(*As<Float16>(BFloat16(value))), value);
  }
  EXPECT_TRUE(std::signbit(*As<float>(-0.0)));
}

TEST(ConvertFloatsTest, InfinityAndNanStay) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(*As<float>(infinity), infinity);
  EXPECT_EQ(static_cast<float>(*As<Float16>(-infinity)), -infinity);
  EXPECT_EQ(*As<double>(BFloat16(INFINITY)), infinity);
  EXPECT_TRUE(std::isnan(*As<float>(std::nan(""))));
  EXPECT_TRUE(std::isnan(static_cast<float>(*As<Float16>(std::nan("")))));
  EXPECT_TRUE(std::isnan(static_cast<float>(*As<BFloat16>(NAN))));
}

TEST(ConvertFloatsTest, AFiniteValueDoesNotBecomeInfinite) {
  constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;
  EXPECT_THAT(As<float>(1e300),
              StatusIs(kOutOfRange, HasSubstr("1e+300 is too large for "
                                              "f32")));
  EXPECT_THAT(As<Float16>(-65520.0), StatusIs(kOutOfRange));
  EXPECT_EQ(static_cast<float>(*As<Float16>(65519.0)), 65504);
  EXPECT_THAT(As<Float16>(BFloat16(1e10f)),
              StatusIs(kOutOfRange, HasSubstr("f16")));
  EXPECT_THAT(As<BFloat16>(FLT_MAX), StatusIs(kOutOfRange, HasSubstr("bf16")));
}

// Going through the nearest float would round twice.
TEST(ConvertFloatsTest, DoublesAreRoundedOnce) {
  const double half = 1 + std::ldexp(1, -11);  // half-way between two f16
  EXPECT_EQ(As<Float16>(half)->bits, Float16(1.0f).bits);
  EXPECT_EQ(As<Float16>(half + 1e-12)->bits, Float16(1.0f).bits + 1);
  EXPECT_EQ(As<Float16>(-half - 1e-12)->bits, Float16(-1.0f).bits + 1);
  const double odd = 1 + 3 * std::ldexp(1, -11);
  EXPECT_EQ(As<Float16>(odd)->bits, Float16(1.0f).bits + 2);
  EXPECT_EQ(As<Float16>(odd - 1e-12)->bits, Float16(1.0f).bits + 1);
  const double bhalf = 1 + std::ldexp(1, -8);
  EXPECT_EQ(As<BFloat16>(bhalf)->bits, BFloat16(1.0f).bits);
  EXPECT_EQ(As<BFloat16>(bhalf + 1e-12)->bits, BFloat16(1.0f).bits + 1);
  EXPECT_EQ(As<Float16>(1e-300)->bits, 0);
  EXPECT_EQ(As<BFloat16>(-1e-300)->bits, 0x8000);
}

// The result is the nearest of its neighbours, as found by comparing.
template <typename To>
void NearestIsTaken(uint64_t bits) {
  const auto value = std::bit_cast<double>(bits);
  if (!std::isfinite(value)) return;
  const absl::StatusOr<To> got = As<To>(value);
  if (!got.ok()) return;
  const auto at = [](int number) {
    To result;
    result.bits = static_cast<uint16_t>(number);
    return static_cast<double>(static_cast<float>(result));
  };
  const double error = std::fabs(at(got->bits) - value);
  for (const int neighbour : {got->bits - 1, got->bits + 1}) {
    if ((neighbour & 0x7fff) == 0x7fff || neighbour < 0) continue;
    const double other = std::fabs(at(neighbour) - value);
    if (std::isnan(other)) continue;
    RC_ASSERT(error < other || (error == other && got->bits % 2 == 0) ||
              at(got->bits) == at(neighbour));
  }
}

RC_GTEST_PROP(ConvertFloatsTest, TheNearestIsTaken,
              (uint64_t fraction, bool negative)) {
  // Exponents in and around the range of each.
  const int f16 = *rc::gen::inRange(-30, 17);
  const int bf16 = *rc::gen::inRange(-150, 128);
  const auto bits = [&](int exponent) {
    return uint64_t{negative} << 63 |
           static_cast<uint64_t>(exponent + 1023) << 52 | fraction >> 12;
  };
  NearestIsTaken<Float16>(bits(f16));
  NearestIsTaken<BFloat16>(bits(bf16));
}

class Pieces final : public TensorSource {
 public:
  absl::Status Read(std::string_view /*tensor*/,
                    const Take& take) const override {
    const std::vector<double> values = {1, 2, 3};
    const Bytes bytes = std::as_bytes(std::span(values));
    CAPSTAN_RETURN_IF_ERROR(take(0, bytes.first(8)));
    return take(8, bytes.subspan(8));
  }
};

TEST(ConvertedTensorsTest, OnlyThoseThatAreNamed) {
  const Pieces pieces;
  const ConvertedTensors converted(
      pieces, {{"w", {.from = DType::kF64, .to = DType::kF32}}});
  std::vector<std::pair<uint64_t, size_t>> got;
  const auto take = [&](uint64_t offset, Bytes piece) {
    got.emplace_back(offset, piece.size());
    return absl::OkStatus();
  };
  ASSERT_OK(converted.Read("w", take));
  ASSERT_OK(converted.Read("v", take));
  EXPECT_THAT(got,
              ::testing::ElementsAre(std::pair(0u, 4u), std::pair(4u, 8u),
                                     std::pair(0u, 8u), std::pair(8u, 16u)));
}

}  // namespace
}  // namespace capstan
