// The exact_digits workload: workers train on parameter servers through faults.
// The values show how often each update was applied.
// docs/decisions/011-exact-digits.md.
//
// Nodes: chief, server0, server1, ..., worker0, worker1, ... Servers keep their
// values in memory only, so only workers may be killed.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "simulate/workload.h"

namespace capstan::simulate {

absl::StatusOr<std::unique_ptr<Workload>> NewExactDigits(
    const Scenario& scenario, uint64_t seed, Plant plant);

}  // namespace capstan::simulate
