#include "server/shard/arithmetic.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace capstan {
namespace {

template <typename T>
T LoadElement(const std::byte* from, size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void StoreElement(T value, std::byte* into, size_t i) {
  std::memcpy(into + i * sizeof(T), &value, sizeof(T));
}

// The type in which T is computed: integers wrap, 16-bit floats are widened.
template <typename T>
struct Wide {
  using type = T;
};
template <>
struct Wide<Float16> {
  using type = float;
};
template <>
struct Wide<BFloat16> {
  using type = float;
};
template <typename T>
using WideOf = typename Wide<T>::type;

// a / b. The one quotient of integers that does not fit wraps.
template <typename T>
T Quotient(T a, T b) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    if (b == -1) {
      return static_cast<T>(std::make_unsigned_t<T>{0} -
                            static_cast<std::make_unsigned_t<T>>(a));
    }
  }
  return static_cast<T>(a / b);
}

// a (operation) b, computed unsigned where overflow would be undefined.
template <Operation kOperation, typename T>
T Combine(T a, T b) {
  if constexpr (kOperation == Operation::kMin) return b < a ? b : a;
  if constexpr (kOperation == Operation::kMax) return a < b ? b : a;
  if constexpr (kOperation == Operation::kDiv) return Quotient(a, b);
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    if constexpr (kOperation == Operation::kAdd) return static_cast<T>(x + y);
    if constexpr (kOperation == Operation::kSub) return static_cast<T>(x - y);
    return static_cast<T>(x * y);
  } else {
    if constexpr (kOperation == Operation::kAdd) return a + b;
    if constexpr (kOperation == Operation::kSub) return a - b;
    return a * b;
  }
}

template <typename T, Operation kOperation>
void Loop(size_t count, const std::byte* from, std::byte* into) {
  for (size_t i = 0; i < count; ++i) {
    const auto a = static_cast<WideOf<T>>(LoadElement<T>(into, i));
    const auto b = static_cast<WideOf<T>>(LoadElement<T>(from, i));
    StoreElement<T>(static_cast<T>(Combine<kOperation, WideOf<T>>(a, b)), into,
                    i);
  }
}

template <typename T>
void Choose(Operation operation, size_t count, const std::byte* from,
            std::byte* into) {
  switch (operation) {
    case Operation::kAdd:
      return Loop<T, Operation::kAdd>(count, from, into);
    case Operation::kSub:
      return Loop<T, Operation::kSub>(count, from, into);
    case Operation::kMul:
      return Loop<T, Operation::kMul>(count, from, into);
    case Operation::kDiv:
      return Loop<T, Operation::kDiv>(count, from, into);
    case Operation::kMin:
      return Loop<T, Operation::kMin>(count, from, into);
    case Operation::kMax:
      return Loop<T, Operation::kMax>(count, from, into);
    case Operation::kGradient:
    case Operation::kSet:
      return;
  }
}

}  // namespace

void ApplyOperation(DType dtype, Operation operation, size_t count,
                    const std::byte* from, std::byte* into) {
  if (count == 0) return;
  if (operation == Operation::kSet) {
    std::memcpy(into, from, count * SizeOf(dtype));
    return;
  }
  switch (dtype) {
    case DType::kF32:
      return Choose<float>(operation, count, from, into);
    case DType::kF64:
      return Choose<double>(operation, count, from, into);
    case DType::kF16:
      return Choose<Float16>(operation, count, from, into);
    case DType::kBF16:
      return Choose<BFloat16>(operation, count, from, into);
    case DType::kI32:
      return Choose<int32_t>(operation, count, from, into);
    case DType::kI64:
      return Choose<int64_t>(operation, count, from, into);
    case DType::kU8:
      return Choose<uint8_t>(operation, count, from, into);
    case DType::kBool:
      return;
  }
}

}  // namespace capstan
