#include "checkpoint/tensor_file/convert_floats.h"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace capstan {
namespace {

absl::string_view Name(DType dtype) {
  const std::string_view name = NameOf(dtype);
  return {name.data(), name.size()};
}

// Rounds to a float from which rounding to a type of half the size gives the
// same result as from `value` itself: an inexact result is made odd, so that it
// is never half-way between two values of that type.
float RoundToOdd(double value) {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) {
    return nearest;
  }
  auto bits = std::bit_cast<uint32_t>(nearest);
  // Of a float and its neighbour, the one nearer to 0.
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

template <typename T>
double Widen(T value) {
  if constexpr (std::same_as<T, double>) return value;
  return static_cast<double>(static_cast<float>(value));
}

template <typename T>
T Narrow(double value) {
  if constexpr (std::same_as<T, double>) return value;
  if constexpr (std::same_as<T, float>) return static_cast<float>(value);
  if constexpr (sizeof(T) == sizeof(uint16_t)) return T(RoundToOdd(value));
}

template <typename From, typename To>
absl::Status Convert(Bytes from, MutableBytes to) {
  const size_t count = from.size() / sizeof(From);
  for (size_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, from.data() + i * sizeof(From), sizeof(From));
    const double value = Widen(element);
    const To result = Narrow<To>(value);
    if (std::isinf(Widen(result)) && !std::isinf(value)) {
      return absl::OutOfRangeError(
          absl::StrCat(value, " is too large for ", Name(DTypeOf<To>())));
    }
    std::memcpy(to.data() + i * sizeof(To), &result, sizeof(To));
  }
  return absl::OkStatus();
}

template <typename From>
absl::Status ConvertFrom(Bytes from, DType to_type, MutableBytes to) {
  switch (to_type) {
    case DType::kF64:
      return Convert<From, double>(from, to);
    case DType::kF32:
      return Convert<From, float>(from, to);
    case DType::kF16:
      return Convert<From, Float16>(from, to);
    case DType::kBF16:
      return Convert<From, BFloat16>(from, to);
    default:
      return absl::InternalError("no floating type");
  }
}

}  // namespace

bool IsFloat(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

absl::Status ConvertFloats(DType from_type, Bytes from, DType to_type,
                           MutableBytes to) {
  switch (from_type) {
    case DType::kF64:
      return ConvertFrom<double>(from, to_type, to);
    case DType::kF32:
      return ConvertFrom<float>(from, to_type, to);
    case DType::kF16:
      return ConvertFrom<Float16>(from, to_type, to);
    case DType::kBF16:
      return ConvertFrom<BFloat16>(from, to_type, to);
    default:
      return absl::InternalError("no floating type");
  }
}

absl::Status ConvertedTensors::Read(std::string_view tensor,
                                    const Take& take) const {
  const auto found = conversions_.find(tensor);
  if (found == conversions_.end()) return source_.Read(tensor, take);
  const auto [from, to] = found->second;
  std::vector<std::byte> converted;
  return source_.Read(
      tensor, [&, from = from, to = to](uint64_t offset, Bytes piece) {
        converted.resize(piece.size() / SizeOf(from) * SizeOf(to));
        const absl::Status status = ConvertFloats(from, piece, to, converted);
        if (!status.ok()) return status;
        return take(offset / SizeOf(from) * SizeOf(to), converted);
      });
}

}  // namespace capstan
