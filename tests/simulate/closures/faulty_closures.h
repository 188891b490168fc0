// Planted bugs of the closures workload, between the coordinator, its workers
// and the network.
#pragma once

#include <memory>

#include "simulate/workload.h"
#include "simulation/sim_world.h"
#include "wire/channel.h"
#include "wire/service.h"

namespace capstan::simulate {

// The coordinator's channel to a worker; `inner` itself unless the bug belongs
// there. `memory` is shared by all channels of one coordinator.
struct RetryMemory;
std::shared_ptr<RetryMemory> NewRetryMemory();
std::unique_ptr<Channel> NewFaultyWorkerChannel(
    std::unique_ptr<Channel> inner, Plant plant,
    std::shared_ptr<RetryMemory> memory);

// A channel to a parameter server; `inner` itself unless the bug belongs there.
std::unique_ptr<Channel> NewFaultyServerChannel(std::unique_ptr<Channel> inner,
                                                Plant plant);

// A worker with the bug; null if the bug is not a worker's. `worker` and `node`
// must outlive it.
std::unique_ptr<Service> NewFaultyWorker(Service& worker, Plant plant,
                                         SimNode& node);

}  // namespace capstan::simulate
