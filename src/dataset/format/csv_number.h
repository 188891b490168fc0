// Reads numbers from text, with a fast path for short ones. Each number ends
// before a character that is not part of it, which must exist. Inline, because
// this is most of the cost of reading a file.
#pragma once

#include <fast_float/fast_float.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace capstan {

inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Reads the digits at `p` as a number, if there are few enough; moves past
// them.
inline std::uint64_t ReadDigits(const char*& p) {
  // 19 digits always fit.
  std::uint64_t value = 0;
  const char* const most = p + 19;
  while (p != most && IsDigit(*p)) {
    value = value * 10 + static_cast<std::uint64_t>(*p++ - '0');
  }
  return value;
}

// Reads a number at `p`; null if there is none.
inline const char* ReadFloat(const char* p, const char* limit, float& value) {
  // Up to 7 digits and the powers of ten here are exact as floats, so a single
  // division rounds once, and correctly. Most numbers are this short.
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

// Reads an integer at `p`; null if there is none, or it may be too large.
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
