// The program of the closures workload that gives its steps keys, and is killed
// and started again.
#pragma once

#include "base/task.h"
#include "simulate/closure_context.h"

namespace capstan::simulate {

Task<> RunKeyChief(ClosureContext& context, SimNode& node);

}  // namespace capstan::simulate
