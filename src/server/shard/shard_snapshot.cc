// The part of a shard that keeps its contents for a snapshot, and takes over
// restored values.
#include <utility>

#include "server/shard/shard.h"

namespace capstan {

bool Shard::BeginSnapshot(ShardHold& hold) {
  hold.info.key = key_;
  hold.info.version = version_;
  hold.info.updates = state_.updates;
  hold.info.momentum_product = state_.momentum_product;
  hold.info.applied = report_.applied;
  in_snapshot_ = true;
  bool reserved = true;
  for (size_t part = 0; part < num_parts(); ++part) {
    // The next version goes into the spare.
    if (!HasSpare(part)) {
      reserves_[part] = BudgetShare::Take(budget_, part_bytes(part));
      reserved &= reserves_[part].has_value();
    }
    hold.parts.emplace_back(Part(part));
  }
  return reserved;
}

void Shard::EndSnapshot(const ShardHold& hold) {
  if (dropped_) return;
  ReleaseReserves();
  in_snapshot_ = false;
  for (size_t part = 0; part < num_parts(); ++part) {
    // What the snapshot kept became the spare of the version made beside it.
    if (hold.parts[part].Holds(Spare(part))) KeepSpareIfWorth(part);
  }
}

std::array<std::shared_ptr<Values>, kMaxParts> Shard::TakeSpares() {
  std::array<std::shared_ptr<Values>, kMaxParts> taken;
  if (dropped_ || in_snapshot_) return taken;
  for (size_t part = 0; part < num_parts(); ++part) {
    if (HasSpare(part)) taken[part] = std::move(Spare(part));
  }
  return taken;
}

bool Shard::HasRoomToStream() {
  if (!in_snapshot_) return true;
  for (size_t part = 0; part < num_parts(); ++part) {
    if (!HasSpare(part) && !reserves_[part]) return false;
  }
  return true;
}

void Shard::Restore(std::span<std::shared_ptr<Values>> parts,
                    const OptimizerState& state) {
  for (size_t part = 0; part < num_parts(); ++part) {
    Replace(part, std::move(parts[part]));
    KeepSpareIfWorth(part);
  }
  // An update that is under way still reads the old values.
  if (stream_ != nullptr) FreeSpares();
  state_ = state;
  ++version_;
  for (const auto& [round, contributions] : staged_) {
    report_.dropped += contributions.size();
  }
  staged_.clear();
}

}  // namespace capstan
