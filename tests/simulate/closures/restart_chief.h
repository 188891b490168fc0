// The coordinator of the closures workload when it is killed and started again:
// each life goes on with what the one before has left on the servers.
// docs/decisions/021-the-record-rides-on-the-watermark.md.
#pragma once

#include "base/async/task.h"
#include "simulate/closures/closure_context.h"

namespace capstan::simulate {

// One life.
Task<> RunRestartChief(ClosureContext& context, SimNode& node);

}  // namespace capstan::simulate
