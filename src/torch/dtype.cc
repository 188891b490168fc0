#include "torch/dtype.h"

#include <string>

#include "capstan/error.h"

namespace capstan {

torch::ScalarType ScalarTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return torch::kFloat32;
    case DType::kF64:
      return torch::kFloat64;
    case DType::kF16:
      return torch::kFloat16;
    case DType::kBF16:
      return torch::kBFloat16;
    case DType::kI32:
      return torch::kInt32;
    case DType::kI64:
      return torch::kInt64;
    case DType::kU8:
      return torch::kUInt8;
    case DType::kBool:
      return torch::kBool;
  }
  throw Error(ErrorCode::kInvalidArgument, "a tensor of an unknown type");
}

DType DTypeOf(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return DType::kF32;
    case torch::kFloat64:
      return DType::kF64;
    case torch::kFloat16:
      return DType::kF16;
    case torch::kBFloat16:
      return DType::kBF16;
    case torch::kInt32:
      return DType::kI32;
    case torch::kInt64:
      return DType::kI64;
    case torch::kUInt8:
      return DType::kU8;
    case torch::kBool:
      return DType::kBool;
    default:
      throw Error(ErrorCode::kInvalidArgument,
                  std::string("a tensor of libtorch's type ") +
                      c10::toString(type) + ", which Capstan has not");
  }
}

bool IsHalf(const torch::Tensor& tensor) {
  return tensor.scalar_type() == torch::kFloat16 ||
         tensor.scalar_type() == torch::kBFloat16;
}

Shape ShapeOf(const torch::Tensor& tensor) {
  const torch::IntArrayRef sizes = tensor.sizes();
  return Shape(std::span<const int64_t>(sizes.data(), sizes.size()));
}

MutableTensorView ViewOf(const torch::Tensor& tensor) {
  return MutableTensorView(DTypeOf(tensor.scalar_type()), ShapeOf(tensor),
                           tensor.data_ptr());
}

}  // namespace capstan
