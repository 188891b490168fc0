// The client of the request_reply workload: calls servers, and shows the judge
// the results.
#pragma once

#include "simulate/requests/request_context.h"
#include "simulation/sim_world.h"

namespace capstan::simulate {

// The client's program: callers call random servers until the load ends; then
// every server must answer once, and the channels are closed. Then sets `done`.
// `context` and `network` must outlive it.
Task<> RunRequestClient(RequestContext& context, SimNode& node,
                        Network& network, size_t index, bool& done);

}  // namespace capstan::simulate
