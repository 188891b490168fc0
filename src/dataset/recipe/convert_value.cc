#include "dataset/recipe/convert_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/cat.h"
#include "capstan/error.h"

namespace capstan {
namespace {

template <typename T>
T Convert(double value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    // As doubles both bounds are exact: 2^63 is one more than the largest i64.
    constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
    const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!(value >= kLow && value < beyond) || std::trunc(value) != value) {
      throw Error(ErrorCode::kInvalidArgument,
                  Cat(value, " is no ", NameOf(DTypeOf<T>())));
    }
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return T(static_cast<float>(value));
  }
}

template <typename T>
void FillWith(Tensor& tensor, double value) {
  const auto values = tensor.MutableValues<T>();
  std::fill(values.begin(), values.end(), Convert<T>(value));
}

}  // namespace

Tensor Filled(DType dtype, const Shape& shape, double value) {
  Tensor tensor = Tensor::Uninitialized(dtype, shape);
  switch (dtype) {
    case DType::kF32:
      FillWith<float>(tensor, value);
      break;
    case DType::kF64:
      FillWith<double>(tensor, value);
      break;
    case DType::kF16:
      FillWith<Float16>(tensor, value);
      break;
    case DType::kBF16:
      FillWith<BFloat16>(tensor, value);
      break;
    case DType::kI32:
      FillWith<std::int32_t>(tensor, value);
      break;
    case DType::kI64:
      FillWith<std::int64_t>(tensor, value);
      break;
    case DType::kU8:
      FillWith<std::uint8_t>(tensor, value);
      break;
    case DType::kBool:
      FillWith<bool>(tensor, value);
      break;
  }
  return tensor;
}

}  // namespace capstan
