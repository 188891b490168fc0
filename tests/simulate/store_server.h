// A parameter server of the workloads that train.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/async/task.h"
#include "simulate/workload.h"
#include "simulation/sim_world.h"

namespace capstan::simulate {

// Serves as ps/`index` at `address` until the node is killed, which it must not
// be while anybody counts on it: what it holds is in its memory alone. `busy`:
// as if it had other threads, which keep shards for a while (turn_holder.h).
// Says by `violation` if it cannot.
Task<> RunStoreServer(SimNode& node, size_t index, std::string address,
                      Plant plant, bool busy,
                      std::function<void(const std::string&)> violation);

}  // namespace capstan::simulate
