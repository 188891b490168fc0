#include "simulate/digits/digit_code.h"

#include <cmath>
#include <cstdint>

namespace capstan::simulate {
namespace {

constexpr int kBitsPerDigit = 4;
constexpr uint32_t kDigitMask = 15;
// 16^6: from here on f32 is not exact.
constexpr float kTooLarge = 16777216;

}  // namespace

DigitPlace PlaceOfSlot(size_t slot) {
  const auto digit = static_cast<int>(slot % kSlotsPerElement);
  return {.element = slot / kSlotsPerElement,
          .weight = static_cast<float>(1 << (kBitsPerDigit * digit))};
}

Decoded DecodeDigits(std::span<const float> values, size_t stride) {
  Decoded decoded;
  for (size_t i = 0; i * stride < values.size(); ++i) {
    const float value = values[i * stride];
    // Written so that NaN is also rejected.
    if (!(value >= 0 && value < kTooLarge && value == std::floor(value))) {
      decoded.readable = false;
      continue;
    }
    auto left = static_cast<uint32_t>(value);
    for (size_t slot = i * kSlotsPerElement; left != 0; ++slot) {
      const uint32_t times = left & kDigitMask;
      if (times > 0) decoded.slots.Insert(slot);
      if (times > 1) decoded.repeated.push_back(slot);
      left >>= kBitsPerDigit;
    }
  }
  return decoded;
}

}  // namespace capstan::simulate
