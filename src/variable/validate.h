// Whether the description of a variable makes sense. The one place that says
// so: for what a program asks for and for what arrives from a peer or a file.
// Pure; thread-safe.
#pragma once

#include "base/status.h"
#include "capstan/variable.h"

namespace capstan {

// More than any cluster has; small enough that sums of them do not overflow.
inline constexpr int kMaxReplicas = 1'000'000;

// OK, or InvalidArgument that names the variable, the field and its value, and
// what to do. Besides what each field says of itself:
//   - an optimizer needs f32, which is what its state and arithmetic are;
//   - a random initializer needs a floating dtype, and its numbers must be
//     finite in that dtype; a Constant must be exact in an integer dtype;
//   - Orthogonal needs at least two axes.
absl::Status ValidateSpec(const VariableSpec& spec);

}  // namespace capstan
