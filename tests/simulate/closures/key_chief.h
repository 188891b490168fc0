// The program of the closures workload that gives its steps keys, and is killed
// and restarted.
#pragma once

#include "base/async/task.h"
#include "simulate/closures/closure_context.h"

namespace capstan::simulate {

Task<> RunKeyChief(ClosureContext& context, SimNode& node);

}  // namespace capstan::simulate
