// The judge of the durable_log workload: it knows which records were sent and
// acknowledged, and compares them with what a restarted log finds.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/workload.h"
#include "simulation/sim_world.h"

namespace capstan::simulate {

// Used from the simulation's thread.
class LogJudge {
 public:
  LogJudge(SimWorld& world, Violations& violations)
      : world_(world), violations_(violations) {}

  // A writer is about to send a record; returns its value, unique in the run.
  uint64_t OnSend();
  // Its append was acknowledged.
  void OnAcknowledged(uint64_t value);
  // The restarted log has found these records.
  void OnRecovered(const std::vector<uint64_t>& found);

  uint64_t recoveries() const { return recoveries_; }
  const Tally& tally() const { return tally_; }
  Tally& tally() { return tally_; }

 private:
  void Violation(uint64_t value, std::string_view what);

  SimWorld& world_;
  Violations& violations_;
  // By value; the first value is 1.
  std::vector<bool> acknowledged_;
  uint64_t recoveries_ = 0;
  Tally tally_;
};

}  // namespace capstan::simulate
