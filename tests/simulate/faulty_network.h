// A network with a planted bug: it sits between the protocol code and the
// simulated network, parses the frames and breaks some of them in a way that
// the protocol cannot notice. The judge must.
#pragma once

#include <memory>

#include "base/random.h"
#include "simulate/workload.h"
#include "transport/stream.h"

namespace capstan::simulate {

// `inner` must outlive it. Plants that do not concern the network change
// nothing.
std::unique_ptr<Network> NewFaultyNetwork(Network& inner, Plant plant,
                                          Random random);

}  // namespace capstan::simulate
