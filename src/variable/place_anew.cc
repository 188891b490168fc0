#include <algorithm>
#include <utility>

#include "variable/place_entries.h"
#include "variable/shard_map.h"

namespace capstan {

absl::StatusOr<ShardMap> PlaceAnew(const ShardMap& map, uint64_t generation,
                                   std::vector<uint32_t> left_out) {
  std::vector<VariableEntry> entries(map.entries().begin(),
                                     map.entries().end());
  if (!std::equal(left_out.begin(), left_out.end(), map.left_out().begin(),
                  map.left_out().end())) {
    absl::StatusOr<ShardMap> empty = ShardMap::Make(
        generation, 0, map.servers(), {}, map.next_id(), left_out);
    if (!empty.ok()) return empty.status();
    for (VariableEntry& entry : entries) {
      std::string& other = entry.spec.colocate_with;
      // The other variable was dropped, so it no longer matters.
      if (map.Find(other) == nullptr) other.clear();
    }
    std::sort(entries.begin(), entries.end(),
              [](const VariableEntry& a, const VariableEntry& b) {
                return a.spec.name < b.spec.name;
              });
    absl::StatusOr<std::vector<VariableEntry>> placed =
        PlaceEntries(*empty, std::move(entries));
    if (!placed.ok()) return placed.status();
    entries = *std::move(placed);
  }
  return ShardMap::Make(generation, 1, map.servers(), std::move(entries),
                        map.next_id(), std::move(left_out));
}

}  // namespace capstan
