// Whether the parameters of an optimizer are valid. They come from users, and
// over the wire from tasks that did not check them.
// Thread-safe: a pure function.
#pragma once

#include <string_view>

#include "base/status.h"
#include "capstan/optimizer.h"

namespace capstan {

// OK, or InvalidArgument that names the rule, the first invalid field, its
// value and what it has to be: "adam: beta1 is 1, and must be in [0, 1)".
// Numbers must also be finite as f32, since the kernels compute in f32.
absl::Status Validate(const Optimizer& optimizer);

// The rule's name, as in messages and checkpoints: "adam".
std::string_view RuleName(const Optimizer& optimizer);

}  // namespace capstan
