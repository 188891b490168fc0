#include "variable/place_entries.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "variable/name.h"
#include "variable/place.h"
#include "variable/stored_bytes.h"

namespace capstan {
namespace {

// One call goes through three phases:
//   1. Weigh: sum up the shards and what the servers already have.
//   2. Tie: attach colocated variables to the shard that decides where they
//      go, and count their bytes there.
//   3. Settle: place the free shards; the attached ones follow.
class Placement {
 public:
  Placement(const ShardMap& map, std::vector<VariableEntry> added)
      : map_(map), added_(std::move(added)), load_(BytesPerServer(map)) {}

  void Weigh() {
    for (const VariableEntry& entry : added_) {
      const uint64_t row = StoredRowBytes(entry.spec);
      bytes_.emplace_back();
      for (const ShardPlace& shard : entry.shards) {
        bytes_.back().push_back(SaturatingMultiply(
            static_cast<uint64_t>(shard.end - shard.begin), row));
      }
    }
  }

  absl::Status Tie() {
    anchors_.resize(added_.size());
    for (size_t i = 0; i < added_.size(); ++i) {
      auto anchor = FindAnchor(i);
      if (!anchor.ok()) return anchor.status();
      anchors_[i] = *anchor;
      const uint64_t bytes = bytes_[i][0];
      if (anchor->placed != nullptr) {
        uint64_t& load = load_[anchor->placed->shards[0].server];
        load = SaturatingAdd(load, bytes);
      } else if (anchor->added != i) {
        uint64_t& first = bytes_[anchor->added][0];
        first = SaturatingAdd(first, bytes);
      }
    }
    return absl::OkStatus();
  }

  std::vector<VariableEntry> Settle() {
    std::vector<uint32_t> serving;
    std::vector<uint64_t> load;
    for (uint32_t server = 0; server < map_.servers(); ++server) {
      if (!map_.Serves(server)) continue;
      serving.push_back(server);
      load.push_back(load_[server]);
    }
    std::vector<size_t> free;
    std::vector<ShardBytes> free_bytes;
    for (size_t i = 0; i < added_.size(); ++i) {
      if (!IsFree(i)) continue;
      free.push_back(i);
      free_bytes.push_back(bytes_[i]);
    }
    const auto placed = Place(free_bytes, std::move(load));
    for (size_t k = 0; k < free.size(); ++k) {
      std::vector<ShardPlace>& shards = added_[free[k]].shards;
      for (size_t s = 0; s < shards.size(); ++s) {
        shards[s].server = serving[placed[k][s]];
      }
    }
    for (size_t i = 0; i < added_.size(); ++i) {
      if (IsFree(i)) continue;
      const Anchor& anchor = anchors_[i];
      const VariableEntry& decides =
          anchor.placed != nullptr ? *anchor.placed : added_[anchor.added];
      added_[i].shards[0].server = decides.shards[0].server;
    }
    return std::move(added_);
  }

 private:
  // What decides where a variable goes: an entry of the map, or one of the
  // added entries, possibly the variable itself.
  struct Anchor {
    const VariableEntry* placed = nullptr;
    size_t added = 0;
  };

  bool IsFree(size_t i) const {
    return anchors_[i].placed == nullptr && anchors_[i].added == i;
  }

  // Follows the chain of colocate_with.
  absl::StatusOr<Anchor> FindAnchor(size_t start) const {
    size_t at = start;
    for (size_t steps = 0; steps <= added_.size(); ++steps) {
      const std::string& other = added_[at].spec.colocate_with;
      if (other.empty()) return Anchor{.added = at};
      if (const VariableEntry* entry = map_.Find(other)) {
        return Anchor{.placed = entry};
      }
      const auto found = std::lower_bound(
          added_.begin(), added_.end(), other,
          [](const VariableEntry& entry, const std::string& name) {
            return entry.spec.name < name;
          });
      if (found == added_.end() || found->spec.name != other) {
        return absl::InvalidArgumentError(absl::StrCat(
            CalledName(added_[at].spec.name), ": colocate_with names ",
            CalledName(other),
            ", which there is not; make it before or together with this one"));
      }
      at = static_cast<size_t>(found - added_.begin());
    }
    return absl::InvalidArgumentError(absl::StrCat(
        CalledName(added_[start].spec.name),
        ": colocate_with goes in a circle, by ",
        CalledName(added_[at].spec.name), "; leave it empty in one of them"));
  }

  const ShardMap& map_;
  std::vector<VariableEntry> added_;
  std::vector<uint64_t> load_;  // per server
  // Per added entry:
  std::vector<ShardBytes> bytes_;
  std::vector<Anchor> anchors_;
};

}  // namespace

absl::StatusOr<std::vector<VariableEntry>> PlaceEntries(
    const ShardMap& map, std::vector<VariableEntry> added) {
  Placement placement(map, std::move(added));
  placement.Weigh();
  CAPSTAN_RETURN_IF_ERROR(placement.Tie());
  return placement.Settle();
}

}  // namespace capstan
