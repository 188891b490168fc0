// The durable_log workload: writers append records to a log on a simulated
// disk, through the real protocol code; acknowledged records must survive every
// crash.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "simulate/scenario.h"
#include "simulate/workload.h"

namespace capstan::simulate {

// InvalidArgument if the scenario's parameters are wrong.
absl::StatusOr<std::unique_ptr<Workload>> NewDurableLog(
    const Scenario& scenario, uint64_t seed, Plant plant);

}  // namespace capstan::simulate
