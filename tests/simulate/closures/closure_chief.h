// The coordinator of the closures workload: the real dispatcher, and a program
// that schedules functions on it.
#pragma once

#include "base/async/task.h"
#include "simulate/closures/closure_context.h"

namespace capstan::simulate {

// Ends when the program has, after it has looked at what came of it all.
Task<> RunClosureChief(ClosureContext& context, SimNode& node);

}  // namespace capstan::simulate
