// Types and shapes of libtorch's tensors, and ours.
// Thread-safe: pure functions.
#pragma once

#include <torch/types.h>

#include "capstan/tensor.h"

namespace capstan {

torch::ScalarType ScalarTypeOf(DType dtype);
// Throws kInvalidArgument, naming it, for a type that we have not.
DType DTypeOf(torch::ScalarType type);
// f16 or bf16. A parameter of these that is trained is f32 on the servers.
bool IsHalf(const torch::Tensor& tensor);

Shape ShapeOf(const torch::Tensor& tensor);

// A tensor that is contiguous and on the CPU, as a view.
MutableTensorView ViewOf(const torch::Tensor& tensor);

}  // namespace capstan
