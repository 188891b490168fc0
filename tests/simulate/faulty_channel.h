// A channel with a planted bug: it keeps its promises about answers, but breaks
// those about time and memory.
#pragma once

#include <memory>

#include "simulate/workload.h"
#include "simulation/sim_world.h"
#include "wire/channel.h"

namespace capstan::simulate {

// `node`, whose process it belongs to, must outlive it. Returns `inner`
// unchanged for plants that do not concern channels.
std::unique_ptr<Channel> NewFaultyChannel(std::unique_ptr<Channel> inner,
                                          Plant plant, SimNode& node);

}  // namespace capstan::simulate
