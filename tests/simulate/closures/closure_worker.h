// A worker of the closures workload: the real service, with functions that are
// coroutines.
#pragma once

#include <cstddef>

#include "base/async/task.h"
#include "simulate/closures/closure_context.h"

namespace capstan::simulate {

// One life of a worker. Workers that join later do so in their first life.
Task<> RunClosureWorker(ClosureContext& context, SimNode& node, size_t index);

}  // namespace capstan::simulate
