// Whether the parameters of an optimizer make sense. They come from users, and
// over the wire from tasks that did not check them.
// Thread-safe: a pure function.
#pragma once

#include <string_view>

#include "base/status.h"
#include "capstan/optimizer.h"

namespace capstan {

// OK, or InvalidArgument that names the rule, the first field that is wrong,
// its value and what it has to be: "adam: beta1 is 1, and must be in [0, 1)".
// Numbers must be finite as f32 too, in which the kernels compute.
absl::Status Validate(const Optimizer& optimizer);

// The name of its rule, as in messages and checkpoints: "adam".
std::string_view RuleName(const Optimizer& optimizer);

}  // namespace capstan
