// The coordinator of the closures workload: the real dispatcher, and a program
// that schedules functions on it.
#pragma once

#include "base/async/task.h"
#include "simulate/closures/closure_context.h"

namespace capstan::simulate {

// Returns when the program has ended and its results have been checked.
Task<> RunClosureChief(ClosureContext& context, SimNode& node);

}  // namespace capstan::simulate
