// Reads numbers from text, the short ones fast. Each ends before a character
// that is no part of a number, which must be there. Inline, as they are most of
// what reading a file costs.
#pragma once

#include <fast_float/fast_float.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace capstan {

inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// The digits at `p` as a number, if they are few enough; moves behind them.
inline std::uint64_t ReadDigits(const char*& p) {
  // 19 digits always fit.
  std::uint64_t value = 0;
  const char* const most = p + 19;
  while (p != most && IsDigit(*p)) {
    value = value * 10 + static_cast<std::uint64_t>(*p++ - '0');
  }
  return value;
}

// A number at `p`; null if there is none.
inline const char* ReadFloat(const char* p, const char* limit, float& value) {
  // Up to 7 digits and the powers of ten here are floats without rounding, so
  // that one division rounds once, and right. Most numbers are so short.
  constexpr std::array<float, 8> kPowers = {1,   1e1, 1e2, 1e3,
                                            1e4, 1e5, 1e6, 1e7};
  const bool negative = *p == '-';
  const char* q = p + (negative ? 1 : 0);
  const char* const begin = q;
  std::uint32_t digits = 0;
  while (IsDigit(*q)) digits = digits * 10 + static_cast<unsigned>(*q++ - '0');
  std::ptrdiff_t count = q - begin;
  std::ptrdiff_t decimals = 0;
  if (*q == '.') {
    const char* const point = q++;
    while (IsDigit(*q)) {
      digits = digits * 10 + static_cast<unsigned>(*q++ - '0');
    }
    decimals = q - point - 1;
    count += decimals;
  }
  if (count > 0 && count <= 7 && *q != 'e' && *q != 'E') {
    value = static_cast<float>(static_cast<std::int32_t>(digits)) /
            kPowers[static_cast<std::size_t>(decimals)];
    if (negative) value = -value;
    return q;
  }
  const auto result = fast_float::from_chars(p, limit, value);
  return result.ec == std::errc() ? result.ptr : nullptr;
}

// An integer at `p`; null if there is none, or perhaps too large a one.
inline const char* ReadInteger(const char* p, std::int64_t& value) {
  const bool negative = *p == '-';
  if (negative) ++p;
  const char* const digits = p;
  const std::uint64_t size = ReadDigits(p);
  if (p == digits || IsDigit(*p) || size > INT64_MAX) return nullptr;
  value = static_cast<std::int64_t>(size);
  if (negative) value = -value;
  return p;
}

}  // namespace capstan
