// Simulates the busy threads of a parameter server; the simulated one has only
// a single thread.
#pragma once

#include <memory>

#include "base/async/task.h"
#include "server/store.h"
#include "simulation/sim_world.h"

namespace capstan::simulate {

// Repeatedly takes the turn of a shard and keeps it for a while, as another
// thread would: requests for that shard wait meanwhile, and the outcome depends
// on which arrive in between. `store` must live as long as the node's process.
Task<> HoldTurns(SimNode& node, const Store& store);

}  // namespace capstan::simulate
