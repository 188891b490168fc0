// Filling a tensor with one number.
#pragma once

#include "capstan/tensor.h"

namespace capstan {

// A tensor whose elements are all `value`, rounded to the type. Throws
// kInvalidArgument if an integer type cannot hold it.
Tensor Filled(DType dtype, const Shape& shape, double value);

}  // namespace capstan
