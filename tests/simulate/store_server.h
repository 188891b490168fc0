// The parameter server of the workloads that train.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/async/task.h"
#include "simulate/workload.h"
#include "simulation/sim_world.h"

namespace capstan::simulate {

// Serves as ps/`index` at `address` until the node is killed, which must not
// happen while anybody relies on it: its state is in memory only. `busy`
// simulates other threads, which keep shards for a while (turn_holder.h).
// Reports a failure to serve through `violation`.
Task<> RunStoreServer(SimNode& node, size_t index, std::string address,
                      Plant plant, bool busy,
                      std::function<void(const std::string&)> violation);

}  // namespace capstan::simulate
