#include "simulate/fault_injector.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace capstan::simulate {

FaultInjector::FaultInjector(SimWorld& world,
                             const std::vector<FaultSpec>& faults)
    : world_(world), faults_(faults), random_(world.NewRandom("faults")) {}

FaultInjector::~FaultInjector() = default;

void FaultInjector::Start() {
  for (size_t i = 0; i < faults_.size(); ++i) ScheduleNext(i);
}

void FaultInjector::ScheduleNext(size_t spec) {
  const Duration wait(random_.Between(1, 2 * faults_[spec].every.count()));
  world_.clock().ScheduleAfter(wait, [this, spec] {
    if (stopped_) return;
    Inject(faults_[spec]);
    ScheduleNext(spec);
  });
}

void FaultInjector::Inject(const FaultSpec& fault) {
  switch (fault.kind) {
    case FaultKind::kDelay:
    case FaultKind::kBreak:
    case FaultKind::kPartition:
    case FaultKind::kOneWayPartition:
      return InjectAtPair(fault);
    default:
      return InjectAtNode(fault);
  }
}

void FaultInjector::InjectAtPair(const FaultSpec& fault) {
  const std::vector<SimNode*> targets = Targets(fault);
  const auto& all = world_.nodes();
  if (targets.empty() || all.size() < 2) return;
  SimNode* one = targets[random_.Below(targets.size())];
  SimNode* other = one;
  while (other == one) other = all[random_.Below(all.size())].get();
  const bool forth = random_.Chance(0.5);
  const bool both = fault.kind == FaultKind::kPartition;
  switch (fault.kind) {
    case FaultKind::kBreak:
      if (world_.BreakConnections(*one, *other) > 0) Count(fault.kind);
      return;
    case FaultKind::kDelay: {
      const Duration extra(random_.Between(1, fault.up_to.count()));
      if (!forth) std::swap(one, other);
      world_.SetDelay(*one, *other, extra);
      Count(fault.kind);
      return UndoLater(fault, [this, one, other] {
        world_.SetDelay(*one, *other, Duration::zero());
      });
    }
    default:
      break;
  }
  if (!forth) std::swap(one, other);
  world_.Partition(*one, *other);
  if (both) world_.Partition(*other, *one);
  Count(fault.kind);
  UndoLater(fault, [this, one, other, both] {
    world_.Heal(*one, *other);
    if (both) world_.Heal(*other, *one);
  });
}

void FaultInjector::InjectAtNode(const FaultSpec& fault) {
  const std::vector<SimNode*> targets = Targets(fault);
  if (targets.empty()) return;
  SimNode* node = targets[random_.Below(targets.size())];
  if (fault.kind == FaultKind::kClock) {
    node->clock().set_wall_error(
        Duration(random_.Between(-fault.up_to.count(), fault.up_to.count())));
    return Count(fault.kind);
  }
  if (!node->running()) return;
  if (fault.kind == FaultKind::kDiskError) {
    SimFileSystem& files = node->files();
    files.FailOperation(files.operations() + 1 + random_.Below(4),
                        absl::DataLossError("the disk failed"));
    return Count(fault.kind);
  }
  if (fault.kind == FaultKind::kHang) {
    if (node->hung()) return;
    world_.Hang(*node);
    Count(fault.kind);
    // By then the node may run another process.
    return UndoLater(fault, [this, node, life = node->incarnation()] {
      if (node->incarnation() == life && node->hung()) world_.Resume(*node);
    });
  }
  world_.Crash(*node, fault.kind == FaultKind::kPowerLoss ? SimCrash::kMachine
                                                          : SimCrash::kProcess);
  Count(fault.kind);
  UndoLater(fault, [this, node] { world_.Restart(*node); });
}

void FaultInjector::UndoLater(const FaultSpec& fault,
                              std::function<void()> undo) {
  const Duration wait(random_.Between(1, fault.lasts.count()));
  world_.clock().ScheduleAfter(wait, [this, undo = std::move(undo)] {
    if (!stopped_) undo();
  });
}

void FaultInjector::StopAndMend() {
  stopped_ = true;
  for (const auto& from : world_.nodes()) {
    for (const auto& to : world_.nodes()) {
      world_.Heal(*from, *to);
      world_.SetDelay(*from, *to, Duration::zero());
    }
    if (from->hung()) world_.Resume(*from);
    from->files().ClearFailures();
    world_.Restart(*from);
  }
}

std::vector<SimNode*> FaultInjector::Targets(const FaultSpec& fault) const {
  std::vector<SimNode*> targets;
  for (const auto& node : world_.nodes()) {
    const bool hit = std::any_of(fault.nodes.begin(), fault.nodes.end(),
                                 [&](const std::string& name) {
                                   return node->name().starts_with(name);
                                 });
    if (hit || fault.nodes.empty()) targets.push_back(node.get());
  }
  return targets;
}

}  // namespace capstan::simulate
