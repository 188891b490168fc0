// The coordinator of the closures workload when it is killed and restarted:
// each life resumes from what the previous one left on the servers.
// docs/decisions/021-the-record-rides-on-the-watermark.md.
#pragma once

#include "base/async/task.h"
#include "simulate/closures/closure_context.h"

namespace capstan::simulate {

// One life of the coordinator.
Task<> RunRestartChief(ClosureContext& context, SimNode& node);

}  // namespace capstan::simulate
