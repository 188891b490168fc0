// A channel with a planted bug: it keeps its promises about answers, but not
// those about time and memory.
#pragma once

#include <memory>

#include "simulate/workload.h"
#include "simulation/sim_world.h"
#include "wire/channel.h"

namespace capstan::simulate {

// `node`, whose process it belongs to, must outlive it. Plants that do not
// concern channels leave `inner` as it is.
std::unique_ptr<Channel> NewFaultyChannel(std::unique_ptr<Channel> inner,
                                          Plant plant, SimNode& node);

}  // namespace capstan::simulate
