// The operations on elements other than those of optimizers. Pure functions;
// thread-safe.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "wire/parameter.h"

namespace capstan {

// into[i] = into[i] (operation) from[i] for `count` elements. Integers wrap.
// CheckOperands (wire/check_operands.h) must have returned OK. No alignment is
// required.
void ApplyOperation(DType dtype, Operation operation, size_t count,
                    const std::byte* from, std::byte* into);

}  // namespace capstan
