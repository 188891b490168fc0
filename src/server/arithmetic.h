// The operations on elements other than an optimizer's.
// Pure functions; thread-safe.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "wire/parameter.h"

namespace capstan {

// OK if `operation` with elements of `dtype` makes sense whatever the values
// that it changes: no gradient, bools are only set, integers not divided by 0.
// Else InvalidArgument, with the index of the offending operand.
absl::Status CheckOperands(DType dtype, Operation operation, Bytes operands);

// into[i] = into[i] (operation) from[i] for `count` elements. Integers wrap.
// CheckOperands must have been OK. Nothing need be aligned.
void ApplyOperation(DType dtype, Operation operation, size_t count,
                    const std::byte* from, std::byte* into);

}  // namespace capstan
