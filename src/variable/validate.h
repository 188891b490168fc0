// Whether the description of a variable is valid. This is the only place that
// decides: for what a program asks for and for what arrives from a peer or a
// file.
// Pure; thread-safe.
#pragma once

#include "base/status.h"
#include "capstan/variable.h"

namespace capstan {

// More than any cluster has; small enough that sums of them do not overflow.
inline constexpr int kMaxReplicas = 1'000'000;

// OK, or InvalidArgument that names the variable, the field and its value, and
// says what to do. Beyond the constraints documented on each field:
//   - an optimizer needs f32, the type of its state and arithmetic;
//   - a random initializer needs a floating dtype, and its numbers must be
//     finite in that dtype; a Constant must be exact in an integer dtype;
//   - Orthogonal needs at least two axes.
absl::Status ValidateSpec(const VariableSpec& spec);

}  // namespace capstan
