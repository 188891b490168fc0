// What the values of an update must be for its operation. Servers ask before
// they apply it, and clients before they send it to several.
// Pure; thread-safe.
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "wire/parameter.h"

namespace capstan {

// OK if `operation` with elements of `dtype` makes sense whatever the values
// that it changes: no gradient, bools are only set, integers not divided by 0.
// Else InvalidArgument, with the index of the offending operand.
absl::Status CheckOperands(DType dtype, Operation operation, Bytes operands);

}  // namespace capstan
