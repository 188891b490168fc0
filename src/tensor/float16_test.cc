#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "capstan/tensor.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace capstan {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

uint32_t BitsOf(float value) { return std::bit_cast<uint32_t>(value); }
float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

template <typename Half>
Half HalfFromBits(uint32_t bits) {
  Half half;
  half.bits = static_cast<uint16_t>(bits);
  return half;
}

// A format by its definition, computed in double, which is exact for it.
struct Format {
  int fraction_bits;
  int bias;
  uint32_t infinity;  // the bits of +infinity

  bool IsNan(uint32_t bits) const { return (bits & 0x7fff) > infinity; }

  double Decode(uint32_t bits) const {
    uint32_t magnitude = bits & 0x7fff;
    if (magnitude == infinity) return bits >> 15 ? -kInf : kInf;
    int exponent = static_cast<int>(magnitude >> fraction_bits);
    double fraction = magnitude & ((1u << fraction_bits) - 1);
    if (exponent != 0) fraction += std::ldexp(1.0, fraction_bits);
    double value =
        std::ldexp(fraction, std::max(exponent, 1) - bias - fraction_bits);
    return bits >> 15 ? -value : value;
  }

  // The bits nearest to `value`, which must not be NaN; ties go to even.
  uint32_t Encode(double value) const {
    uint32_t sign = std::signbit(value) ? 0x8000 : 0;
    double magnitude = std::fabs(value);
    // The magnitudes ascend with the bits: bisect.
    uint32_t low = 0;
    uint32_t high = infinity;
    while (high - low > 1) {
      uint32_t middle = (low + high) / 2;
      (Decode(middle) <= magnitude ? low : high) = middle;
    }
    // For rounding, infinity takes the place of the next number.
    double above = high == infinity ? std::ldexp(1.0, bias + 1) : Decode(high);
    double to_low = magnitude - Decode(low);
    double to_high = above - magnitude;
    bool up = to_high < to_low || (to_high == to_low && (low & 1) != 0);
    return sign | (up ? high : low);
  }
};

constexpr Format kBinary16 = {10, 15, 0x7c00};
constexpr Format kBrain16 = {7, 127, 0x7f80};

template <typename Half>
void ExpectExactToFloatAndBack(const Format& format) {
  for (uint32_t bits = 0; bits < 65'536; ++bits) {
    Half half = HalfFromBits<Half>(bits);
    float value = static_cast<float>(half);
    if (format.IsNan(bits)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      // Made quiet, otherwise unchanged.
      uint32_t quiet = bits | (1u << (format.fraction_bits - 1));
      ASSERT_EQ(Half(value).bits, quiet) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), format.Decode(bits)) << bits;
    ASSERT_EQ(std::signbit(value), bits >> 15 != 0) << bits;
    ASSERT_EQ(Half(value).bits, bits);
  }
}

TEST(Float16Test, AllValuesConvertExactlyToFloatAndBack) {
  ExpectExactToFloatAndBack<Float16>(kBinary16);
}

TEST(BFloat16Test, AllValuesConvertExactlyToFloatAndBack) {
  ExpectExactToFloatAndBack<BFloat16>(kBrain16);
}

template <typename Half>
void ExpectRoundsAs(const Format& format, float value) {
  ASSERT_EQ(Half(value).bits, format.Encode(value)) << std::hexfloat << value;
}

// Where rounding changes: the midpoints between neighbours, and the adjacent
// floats.
template <typename Half>
void ExpectRoundsToNearestEven(const Format& format) {
  for (uint32_t bits = 0; bits + 1 < format.infinity; ++bits) {
    double middle = (format.Decode(bits) + format.Decode(bits + 1)) / 2;
    float value = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(value), middle);
    for (float sign : {1.0f, -1.0f}) {
      ExpectRoundsAs<Half>(format, sign * value);
      ExpectRoundsAs<Half>(format, sign * std::nextafter(value, 0.0f));
      ExpectRoundsAs<Half>(format, sign * std::nextafter(value, kInf));
    }
  }
}

TEST(Float16Test, RoundsToNearestEvenBetweenAllNeighbours) {
  ExpectRoundsToNearestEven<Float16>(kBinary16);
}

TEST(BFloat16Test, RoundsToNearestEvenBetweenAllNeighbours) {
  ExpectRoundsToNearestEven<BFloat16>(kBrain16);
}

template <typename Half>
void ExpectMatchesOverAllMagnitudes(const Format& format) {
  constexpr uint64_t kStride = 8191;  // prime: all low bits occur
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += kStride) {
    float value = FromBits(static_cast<uint32_t>(bits));
    if (!std::isnan(value)) ExpectRoundsAs<Half>(format, value);
  }
}

TEST(Float16Test, MatchesTheDefinitionOverAllMagnitudes) {
  ExpectMatchesOverAllMagnitudes<Float16>(kBinary16);
}

TEST(BFloat16Test, MatchesTheDefinitionOverAllMagnitudes) {
  ExpectMatchesOverAllMagnitudes<BFloat16>(kBrain16);
}

TEST(Float16Test, KnownValues) {
  EXPECT_EQ(Float16(1.0f).bits, 0x3c00);
  EXPECT_EQ(Float16(-2.0f).bits, 0xc000);
  EXPECT_EQ(Float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(kInf).bits, 0x7c00);
  EXPECT_EQ(Float16(-kInf).bits, 0xfc00);
  EXPECT_EQ(Float16(-0.0f).bits, 0x8000);
  EXPECT_EQ(Float16(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(Float16(0x1p-25f).bits, 0x0000);
  EXPECT_EQ(Float16(0x1.000002p-25f).bits, 0x0001);
  EXPECT_EQ(Float16(std::numeric_limits<float>::denorm_min()).bits, 0);
}

TEST(BFloat16Test, KnownValues) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(-0.0f).bits, 0x8000);
  EXPECT_EQ(BFloat16(kInf).bits, 0x7f80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16(FromBits(0x7f7f'7fff)).bits, 0x7f7f);
  EXPECT_EQ(BFloat16(FromBits(0x0000'8001)).bits, 0x0001);
  // The payload is in the bits that are cut off: it must not become infinity,
  // and all ones must not become a negative zero.
  EXPECT_EQ(BFloat16(FromBits(0x7f80'0001)).bits, 0x7fc0);
  EXPECT_EQ(BFloat16(FromBits(0x7fff'ffff)).bits, 0x7fff);
}

TEST(Float16Test, NanKeepsSignAndPayload) {
  EXPECT_EQ(Float16(FromBits(0x7f80'0001)).bits, 0x7e00);
  EXPECT_EQ(Float16(FromBits(0xffff'ffff)).bits, 0xffff);
  EXPECT_EQ(Float16(FromBits(0x7fc0'2000)).bits, 0x7e01);
}

#if defined(__x86_64__)

__attribute__((target("f16c"))) uint16_t HardwareHalf(float value) {
  return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}

__attribute__((target("f16c"))) float HardwareFloat(uint16_t bits) {
  return _cvtsh_ss(bits);
}

TEST(Float16Test, MatchesTheInstructionsBitByBit) {
  // Every processor with AVX2 has F16C, which not all compilers can test for.
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no F16C";
  for (uint32_t bits = 0; bits < 65'536; ++bits) {
    Float16 half = HalfFromBits<Float16>(bits);
    ASSERT_EQ(BitsOf(static_cast<float>(half)),
              BitsOf(HardwareFloat(half.bits)))
        << bits;
  }
  constexpr uint64_t kStride = 251;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += kStride) {
    float value = FromBits(static_cast<uint32_t>(bits));
    ASSERT_EQ(Float16(value).bits, HardwareHalf(value)) << bits;
  }
}

#endif

}  // namespace
}  // namespace capstan
