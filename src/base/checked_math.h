// Integer arithmetic that reports overflow instead of wrapping: for every size
// computed from bytes that a peer, a file or a user sent.
// Pure functions; thread-safe.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

namespace capstan {

// The integer types that support arithmetic: not bool, not the character types.
template <typename T>
concept CheckedInteger =
    std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
    !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
    !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

// a + b, or nullopt if the sum does not fit in T.
template <CheckedInteger T>
[[nodiscard]] constexpr std::optional<T> CheckedAdd(T a,
                                                    std::type_identity_t<T> b) {
  T result = 0;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// a - b, or nullopt if the difference does not fit in T.
template <CheckedInteger T>
[[nodiscard]] constexpr std::optional<T> CheckedSub(T a,
                                                    std::type_identity_t<T> b) {
  T result = 0;
  if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// a * b, or nullopt if the product does not fit in T.
template <CheckedInteger T>
[[nodiscard]] constexpr std::optional<T> CheckedMul(T a,
                                                    std::type_identity_t<T> b) {
  T result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// `value` as a To, or nullopt if To cannot hold it.
template <CheckedInteger To, CheckedInteger From>
[[nodiscard]] constexpr std::optional<To> CheckedCast(From value) {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

}  // namespace capstan
