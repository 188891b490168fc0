// Injects the faults of a scenario, at times and into nodes that the seed
// decides, and undoes them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "simulate/scenario.h"
#include "simulation/sim_world.h"

namespace capstan::simulate {

using FaultCounts = std::array<uint64_t, kFaultKinds>;

// Used from the simulation's thread. Must outlive the world's events.
class FaultInjector {
 public:
  FaultInjector(SimWorld& world, const std::vector<FaultSpec>& faults);
  ~FaultInjector();
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  // Starts injecting. The world's nodes must exist.
  void Start();

  // No more faults: undoes all of them, and starts nodes that are down.
  void StopAndMend();

  // How many faults of each kind took effect.
  const FaultCounts& counts() const { return counts_; }

 private:
  void ScheduleNext(size_t spec);
  void Inject(const FaultSpec& fault);
  void InjectAtPair(const FaultSpec& fault);
  void InjectAtNode(const FaultSpec& fault);
  // Calls `undo` after part of the fault's duration.
  void UndoLater(const FaultSpec& fault, std::function<void()> undo);
  // Nodes that the fault may hit.
  std::vector<SimNode*> Targets(const FaultSpec& fault) const;
  void Count(FaultKind kind) { ++counts_[static_cast<size_t>(kind)]; }

  SimWorld& world_;
  const std::vector<FaultSpec>& faults_;
  Random random_;
  bool stopped_ = false;
  FaultCounts counts_{};
};

}  // namespace capstan::simulate
