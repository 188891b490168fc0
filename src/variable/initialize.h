// The initial values of a part of a variable.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "capstan/variable.h"

namespace capstan {

// Fills `out` with the rows [begin, end) of the initial value of `spec`; out
// has as many bytes, of any alignment. The bytes do not depend on how the
// variable is cut, nor on the machine. A scalar has one row.
//
// InvalidArgument, naming the variable, if the spec is not valid
// (variable/validate.h), if it is Orthogonal and the rows are not all of it,
// or if rows or bytes do not fit. For Unset the memory is zeroed.
//
// On one core it makes about 120 million f32 per second if uniform, and 45
// million if normal. Orthogonal takes a second for 1024 x 1024, and eight times
// as long for twice the size.
absl::Status Initialize(const VariableSpec& spec, int64_t begin, int64_t end,
                        MutableBytes out);

}  // namespace capstan
