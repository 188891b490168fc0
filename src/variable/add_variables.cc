#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "variable/name.h"
#include "variable/partition.h"
#include "variable/place.h"
#include "variable/shard_map.h"
#include "variable/stored_bytes.h"
#include "variable/validate.h"

namespace capstan {
namespace {

// One call of AddVariables:
//   1. Sort: the specs by name, each valid, none there already.
//   2. Cut: each into shards, with their bytes.
//   3. Tie: the colocated to the shard that decides where they go, whose bytes
//      then count theirs.
//   4. Settle: shards that are free are placed, and the others follow.
class Addition {
 public:
  Addition(const ShardMap& map, std::vector<VariableSpec> specs)
      : map_(map), specs_(std::move(specs)), load_(BytesPerServer(map)) {}

  absl::Status Sort() {
    if (map_.servers() == 0) {
      return absl::FailedPreconditionError(
          "there is no parameter server to put variables on");
    }
    for (const VariableSpec& spec : specs_) {
      CAPSTAN_RETURN_IF_ERROR(ValidateSpec(spec));
      if (map_.Find(spec.name) != nullptr) {
        return absl::AlreadyExistsError(absl::StrCat(
            CalledName(spec.name), ": there is one of that name already"));
      }
    }
    std::sort(specs_.begin(), specs_.end(),
              [](const VariableSpec& a, const VariableSpec& b) {
                return a.name < b.name;
              });
    for (size_t i = 1; i < specs_.size(); ++i) {
      if (specs_[i].name == specs_[i - 1].name) {
        return absl::InvalidArgumentError(absl::StrCat(
            CalledName(specs_[i].name), ": two are to be made of that name"));
      }
    }
    if (specs_.size() > UINT32_MAX - map_.next_id()) {
      return absl::ResourceExhaustedError(
          "the job has used up the 2^32 ids of variables; start it anew from "
          "a checkpoint");
    }
    return absl::OkStatus();
  }

  absl::Status Cut(const Partitioner& partitioner) {
    for (const VariableSpec& spec : specs_) {
      const auto shards = CountShards(spec, partitioner);
      if (!shards.ok()) return shards.status();
      ranges_.push_back(SplitRows(spec.shape.num_rows(), *shards));
      const uint64_t row = StoredRowBytes(spec);
      bytes_.emplace_back();
      for (const RowRange& range : ranges_.back()) {
        bytes_.back().push_back(SaturatingMultiply(
            static_cast<uint64_t>(range.end - range.begin), row));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Tie() {
    anchors_.resize(specs_.size());
    for (size_t i = 0; i < specs_.size(); ++i) {
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

  absl::StatusOr<ShardMap> Settle() {
    std::vector<size_t> free;
    std::vector<ShardBytes> free_bytes;
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (!IsFree(i)) continue;
      free.push_back(i);
      free_bytes.push_back(bytes_[i]);
    }
    const auto placed = Place(free_bytes, load_);
    std::vector<ShardServers> servers(specs_.size());
    for (size_t k = 0; k < free.size(); ++k) servers[free[k]] = placed[k];
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (IsFree(i)) continue;
      const Anchor& anchor = anchors_[i];
      servers[i] = {anchor.placed != nullptr ? anchor.placed->shards[0].server
                                             : servers[anchor.added][0]};
    }
    return Make(servers);
  }

 private:
  // What decides where a variable goes: an entry of the map, or one of the
  // specs, which may be the variable itself.
  struct Anchor {
    const VariableEntry* placed = nullptr;
    size_t added = 0;
  };

  bool IsFree(size_t i) const {
    return anchors_[i].placed == nullptr && anchors_[i].added == i;
  }

  // Follows colocate_with, which may go from one to the next.
  absl::StatusOr<Anchor> FindAnchor(size_t start) const {
    size_t at = start;
    for (size_t steps = 0; steps <= specs_.size(); ++steps) {
      const std::string& other = specs_[at].colocate_with;
      if (other.empty()) return Anchor{.added = at};
      if (const VariableEntry* entry = map_.Find(other)) {
        return Anchor{.placed = entry};
      }
      const auto found = std::lower_bound(
          specs_.begin(), specs_.end(), other,
          [](const VariableSpec& spec, const std::string& name) {
            return spec.name < name;
          });
      if (found == specs_.end() || found->name != other) {
        return absl::InvalidArgumentError(absl::StrCat(
            CalledName(specs_[at].name), ": colocate_with names ",
            CalledName(other),
            ", which there is not; make it before or together with this one"));
      }
      at = static_cast<size_t>(found - specs_.begin());
    }
    return absl::InvalidArgumentError(absl::StrCat(
        CalledName(specs_[start].name), ": colocate_with goes in a circle, by ",
        CalledName(specs_[at].name), "; leave it empty in one of them"));
  }

  absl::StatusOr<ShardMap> Make(const std::vector<ShardServers>& servers) {
    std::vector<VariableEntry> entries(map_.entries().begin(),
                                       map_.entries().end());
    for (size_t i = 0; i < specs_.size(); ++i) {
      VariableEntry entry;
      entry.id = map_.next_id() + static_cast<uint32_t>(i);
      entry.spec = std::move(specs_[i]);
      for (size_t s = 0; s < ranges_[i].size(); ++s) {
        entry.shards.push_back({.begin = ranges_[i][s].begin,
                                .end = ranges_[i][s].end,
                                .server = servers[i][s]});
      }
      entries.push_back(std::move(entry));
    }
    return ShardMap::Make(map_.generation(), map_.version() + 1, map_.servers(),
                          std::move(entries), map_.next_id());
  }

  const ShardMap& map_;
  std::vector<VariableSpec> specs_;
  std::vector<uint64_t> load_;  // of each server
  // Of each spec:
  std::vector<std::vector<RowRange>> ranges_;
  std::vector<ShardBytes> bytes_;
  std::vector<Anchor> anchors_;
};

}  // namespace

absl::StatusOr<ShardMap> AddVariables(const ShardMap& map,
                                      std::vector<VariableSpec> specs,
                                      const Partitioner& partitioner) {
  Addition addition(map, std::move(specs));
  CAPSTAN_RETURN_IF_ERROR(addition.Sort());
  CAPSTAN_RETURN_IF_ERROR(addition.Cut(partitioner));
  CAPSTAN_RETURN_IF_ERROR(addition.Tie());
  return addition.Settle();
}

}  // namespace capstan
