// Gradients that must not reach a variable.
// Thread-safe: a pure function of memory that the caller guards.
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "capstan/tensor.h"

namespace capstan {

// The index of the first element that is infinite or NaN, or nullopt if none
// is; integers never are. `values` must be a whole number of elements, and need
// not be aligned.
std::optional<size_t> FindNonFinite(DType dtype, Bytes values);

}  // namespace capstan
