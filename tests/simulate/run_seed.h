// One run of one scenario with one seed.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "simulate/fault_injector.h"
#include "simulate/scenario.h"
#include "simulate/workload.h"

namespace capstan::simulate {

struct SeedResult {
  uint64_t seed = 0;
  uint64_t digest = 0;  // of the trace
  uint64_t steps = 0;
  Tally tally;
  FaultCounts faults{};
  uint64_t violation_count = 0;
  std::vector<std::string> violations;
  // Why the run proves nothing (no fault fired, nothing was answered); empty
  // if it counts.
  std::string void_because;
  std::string remark;  // from the workload
};

// Runs the seed: load and faults for the scenario's duration, then no faults
// until the workload has finished or the recovery time is up. `trace_text` may
// be null. Fails only if the scenario is invalid. Thread-safe.
absl::StatusOr<SeedResult> RunSeed(const Scenario& scenario, uint64_t seed,
                                   Plant plant, std::ostream* trace_text);

}  // namespace capstan::simulate
