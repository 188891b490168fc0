#include "client/shard_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tensor/view.h"

namespace capstan {

absl::Status NoVariable(const ShardMap& map, uint32_t variable) {
  // Version 0 means that the server has begun a new generation and has not
  // created its shards yet: nothing was dropped.
  if (variable < map.next_id() && map.version() != 0) {
    return absl::NotFoundError(absl::StrCat(
        "variable ", variable, " was dropped: it is not in version ",
        map.version(), " of the shard map"));
  }
  return absl::AbortedError(absl::StrCat("variable ", variable,
                                         " is not in version ", map.version(),
                                         " of the shard map"));
}

absl::Status SortItems(std::vector<ItemOrder>& order) {
  const auto by_id = [](const ItemOrder& a, const ItemOrder& b) {
    return a.entry->id < b.entry->id;
  };
  if (!std::is_sorted(order.begin(), order.end(), by_id)) {
    std::sort(order.begin(), order.end(), by_id);
  }
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i].entry == order[i - 1].entry) {
      return absl::InvalidArgumentError(
          absl::StrCat("variable '", order[i].entry->spec.name,
                       "' occurs twice in one call"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSize(const VariableEntry& entry, uint64_t expected,
                       uint64_t given) {
  if (expected == given) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("variable '", entry.spec.name, "' is ",
                   Describe(entry.spec.dtype, entry.spec.shape), ": ", expected,
                   " bytes are needed, and ", given, " were given"));
}

uint64_t VersionOf(const ShardVersions* versions, const ShardMap& map,
                   uint32_t shard) {
  if (versions == nullptr || versions->generation != map.generation() ||
      shard >= versions->versions.size()) {
    return 0;
  }
  return versions->versions[shard];
}

void SetVersion(ShardVersions* versions, const ShardMap& map,
                const VariableEntry& entry, uint32_t shard, uint64_t version) {
  if (versions == nullptr) return;
  if (versions->generation != map.generation() ||
      versions->versions.size() != entry.shards.size()) {
    versions->generation = map.generation();
    versions->versions.assign(entry.shards.size(), 0);
  }
  versions->versions[shard] = version;
}

absl::StatusOr<ShardsReply> ReadReply(const std::string& body, size_t parts,
                                      bool update) {
  absl::StatusOr<ShardsReply> reply = DecodeShardsReply(body);
  if (!reply.ok()) return reply.status();
  const size_t outcomes = update ? parts : 0;
  if (reply->versions.size() != parts || reply->outcomes.size() != outcomes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an answer for ", parts, " shards with ", reply->versions.size(),
        " versions and ", reply->outcomes.size(), " outcomes"));
  }
  return reply;
}

}  // namespace capstan
