// Makes the faults of a scenario happen, at times and to nodes that the seed
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

  // Begins. The world's nodes must be there.
  void Start();

  // No more faults: mends everything, and starts what is down.
  void StopAndMend();

  // How many of each kind took effect.
  const FaultCounts& counts() const { return counts_; }

 private:
  void ScheduleNext(size_t spec);
  void Inject(const FaultSpec& fault);
  void InjectAtPair(const FaultSpec& fault);
  void InjectAtNode(const FaultSpec& fault);
  // Calls `undo` after a part of the fault's time.
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
