// Busy threads of a simulated parameter server, which itself has one.
#pragma once

#include <memory>

#include "base/async/task.h"
#include "server/store.h"
#include "simulation/sim_world.h"

namespace capstan::simulate {

// Again and again takes the turn of a shard and keeps it for a while, as
// another thread would: requests that come to it meanwhile are left waiting,
// and what follows depends on who comes in between. `store` must live as long
// as the node's process.
Task<> HoldTurns(SimNode& node, const Store& store);

}  // namespace capstan::simulate
