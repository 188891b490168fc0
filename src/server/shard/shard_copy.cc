// The part of a shard that copies leased parts outside its turn.
#include <algorithm>
#include <utility>

#include "server/shard/shard.h"

namespace capstan {
namespace {

// Less than this is copied within the turn, which takes a few milliseconds.
constexpr size_t kLargeCopy = 8 << 20;

}  // namespace

bool Shard::NeedsLargeCopy() const {
  if (dropped_ || stream_ != nullptr || copying_) return false;
  size_t bytes = 0;
  for (size_t part = 0; part < num_parts(); ++part) {
    if (Part(part)->leased()) bytes += part_bytes(part);
  }
  return bytes >= kLargeCopy;
}

bool Shard::RoundNeedsLargeCopy(uint64_t round) const {
  const auto found = staged_.find(round);
  if (found == staged_.end()) return false;
  // A dense update makes its new version in other memory anyway.
  const Contributions& all = found->second;
  const bool by_rows = std::all_of(all.begin(), all.end(), [](const auto& one) {
    return one.second.by_rows;
  });
  return by_rows && NeedsLargeCopy();
}

absl::StatusOr<std::unique_ptr<PartCopies>> Shard::BeginCopy() {
  if (!NeedsLargeCopy()) return nullptr;
  auto copies = std::make_unique<PartCopies>();
  for (size_t part = 0; part < num_parts(); ++part) {
    if (!Part(part)->leased()) continue;
    absl::StatusOr<std::shared_ptr<Values>> memory = NewVersion(part);
    if (!memory.ok()) return memory.status();
    copies->to[part] = *std::move(memory);
    copies->from[part].emplace(Part(part));
  }
  copying_ = true;
  return copies;
}

void Shard::EndCopy(PartCopies& copies) {
  copying_ = false;
  for (size_t part = 0; part < num_parts() && !dropped_; ++part) {
    if (copies.to[part] == nullptr) continue;
    if (!copies.from[part]->Holds(Part(part))) continue;
    Replace(part, std::move(copies.to[part]));
    KeepSpareIfWorth(part);
  }
  WakeWaiting();
}

}  // namespace capstan
