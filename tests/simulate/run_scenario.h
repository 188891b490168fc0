// Runs many seeds of one scenario and sums up the results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "simulate/run_seed.h"

namespace capstan::simulate {

struct RunOptions {
  uint64_t first_seed = 1;
  uint64_t seeds = 1000;
  int jobs = 1;  // threads; the results do not depend on it
  Plant plant = Plant::kNone;
  // One in this many seeds runs twice, and must produce the same trace.
  uint64_t repeat_every = 50;
  // Stops when this many seeds have failed.
  uint64_t max_failures = 5;
};

struct ScenarioSummary {
  uint64_t seeds = 0;     // that ran
  uint64_t repeated = 0;  // of them, ran twice
  uint64_t voided = 0;    // of them, prove nothing
  uint64_t steps = 0;
  Tally tally;
  FaultCounts faults{};
  std::string remark;  // from the first seed
  uint64_t violations = 0;
  // Of the traces of all seeds, in order.
  uint64_t digest = 0;
  // The seeds that failed, in order, with their violations.
  std::vector<SeedResult> failures;
  // Failures of the run as a whole: kinds of faults that never happened, too
  // many seeds that prove nothing. Empty if there are none.
  std::vector<std::string> complaints;

  bool ok() const { return failures.empty() && complaints.empty(); }
};

// Runs the seeds. Fails only if the scenario is wrong. Thread-safe.
absl::StatusOr<ScenarioSummary> RunScenario(const Scenario& scenario,
                                            const RunOptions& options);

}  // namespace capstan::simulate
