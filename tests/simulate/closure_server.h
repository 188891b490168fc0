// A parameter server of the closures workload.
#pragma once

#include <cstddef>

#include "base/task.h"
#include "simulate/closure_context.h"

namespace capstan::simulate {

// Serves for as long as the node lives, which must be to the end.
Task<> RunClosureServer(ClosureContext& context, SimNode& node, size_t index);

}  // namespace capstan::simulate
