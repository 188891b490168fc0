// The request_reply workload: clients call servers through the real protocol
// code over the simulated network, and every answer is judged.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "simulate/scenario.h"
#include "simulate/workload.h"

namespace capstan::simulate {

// InvalidArgument if the scenario's parameters are wrong.
absl::StatusOr<std::unique_ptr<Workload>> NewRequestReply(
    const Scenario& scenario, uint64_t seed, Plant plant);

}  // namespace capstan::simulate
