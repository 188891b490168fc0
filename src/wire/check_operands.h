// What the values of an update must be for its operation. Servers check this
// before they apply the update, and clients before they send it to several
// servers.
// Pure; thread-safe.
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "wire/parameter.h"

namespace capstan {

// OK if `operation` with `operands` of `dtype` is valid for all values that it
// may be applied to: bools are only set, integers are not divided by 0.
// Otherwise InvalidArgument, with the index of the offending operand. Gradients
// are for the optimizer to check: Internal.
absl::Status CheckOperands(DType dtype, Operation operation, Bytes operands);

}  // namespace capstan
