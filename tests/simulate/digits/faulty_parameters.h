// Bugs that a parameter server could have, planted in front of a correct one.
#pragma once

#include <memory>

#include "server/parameter_service.h"
#include "simulate/workload.h"
#include "simulation/sim_world.h"
#include "wire/service.h"

namespace capstan::simulate {

// Null unless the plant is a server's. `parameters` and `node` must outlive the
// service.
std::unique_ptr<Service> NewFaultyParameters(ParameterService& parameters,
                                             Plant plant, SimNode& node);

}  // namespace capstan::simulate
