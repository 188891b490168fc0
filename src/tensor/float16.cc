// The conversions of Float16 and BFloat16, using integers only: the result is
// the same on every machine, regardless of its rounding mode. It also matches
// the F16C instructions bit for bit, so a kernel may use those.
#include <bit>

#include "capstan/tensor.h"

namespace capstan {
namespace {

constexpr uint32_t kSign = 0x8000'0000;
constexpr uint32_t kInfinity = 0x7f80'0000;  // as a float; below, as halves
constexpr uint32_t kFraction = 0x007f'ffff;
constexpr uint32_t kHalfInfinity = 0x7c00;
constexpr uint32_t kHalfQuiet = 0x0200;

// `value` without its `shift` lowest bits (1 to 31), rounded to nearest, ties
// to even. A carry out of the fraction raises the exponent, as it should.
constexpr uint32_t RoundShift(uint32_t value, int shift) {
  uint32_t half = uint32_t{1} << (shift - 1);
  uint32_t odd = (value >> shift) & 1;
  return (value + (half - 1) + odd) >> shift;
}

// The half for the positive float `magnitude`.
constexpr uint32_t HalfOf(uint32_t magnitude) {
  constexpr uint32_t kSmallestNormal = 0x3880'0000;    // 2^-14
  constexpr uint32_t kHalfSmallest = 0x3300'0000;      // 2^-25: rounds to 0
  constexpr uint32_t kRoundsToInfinity = 0x477f'f000;  // 65520
  constexpr uint32_t kRebias = (127 - 15) << 23;
  if (magnitude > kInfinity) {
    return kHalfInfinity | kHalfQuiet | ((magnitude & kFraction) >> 13);
  }
  if (magnitude >= kRoundsToInfinity) return kHalfInfinity;
  if (magnitude >= kSmallestNormal) return RoundShift(magnitude - kRebias, 13);
  if (magnitude <= kHalfSmallest) return 0;
  // A subnormal half is a multiple of 2^-24; a float of exponent e is a
  // multiple of 2^(e - 150).
  uint32_t exponent = magnitude >> 23;
  uint32_t significand = (magnitude & kFraction) | (kFraction + 1);
  return RoundShift(significand, static_cast<int>(126 - exponent));
}

// The float for the positive half `magnitude`.
constexpr uint32_t FloatOf(uint32_t magnitude) {
  uint32_t fraction = magnitude & 0x3ff;
  uint32_t exponent = magnitude >> 10;
  if (exponent == 31) {
    uint32_t quiet = fraction == 0 ? 0 : kHalfQuiet;
    return kInfinity | ((fraction | quiet) << 13);
  }
  if (exponent != 0) return (magnitude << 13) + ((127 - 15) << 23);
  if (fraction == 0) return 0;
  // Subnormal: shift the leading 1 up to where it is implied.
  int shift = std::countl_zero(fraction) - 21;  // puts it at bit 10
  uint32_t normalized = (fraction << shift) & 0x3ff;
  return ((113 - static_cast<uint32_t>(shift)) << 23) | (normalized << 13);
}

}  // namespace

Float16::Float16(float value) noexcept {
  uint32_t word = std::bit_cast<uint32_t>(value);
  bits = static_cast<uint16_t>(((word & kSign) >> 16) | HalfOf(word & ~kSign));
}

Float16::operator float() const noexcept {
  uint32_t sign = (uint32_t{bits} << 16) & kSign;
  return std::bit_cast<float>(sign | FloatOf(bits & 0x7fffu));
}

BFloat16::BFloat16(float value) noexcept {
  uint32_t word = std::bit_cast<uint32_t>(value);
  bool is_nan = (word & ~kSign) > kInfinity;
  // Rounding could carry a NaN's payload into the sign, or drop all of it.
  uint32_t half = is_nan ? (word >> 16) | 0x0040 : RoundShift(word, 16);
  bits = static_cast<uint16_t>(half);
}

BFloat16::operator float() const noexcept {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

}  // namespace capstan
