// Conversions between libtorch's types and shapes and ours. Thread-safe: pure
// functions.
#pragma once

#include <torch/types.h>

#include "capstan/tensor.h"

namespace capstan {

torch::ScalarType ScalarTypeOf(DType dtype);
// Throws kInvalidArgument, naming the type, if Capstan does not have it.
DType DTypeOf(torch::ScalarType type);
// Whether the type is f16 or bf16. Trained parameters of these types are f32 on
// the servers.
bool IsHalf(const torch::Tensor& tensor);

Shape ShapeOf(const torch::Tensor& tensor);

// A view of `tensor`, which must be contiguous and on the CPU.
MutableTensorView ViewOf(const torch::Tensor& tensor);

}  // namespace capstan
