#include "variable/shard_map.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "variable/name.h"
#include "variable/partition.h"
#include "variable/stored_bytes.h"
#include "variable/validate.h"

namespace capstan {
namespace {

absl::Status Refuse(const VariableEntry& entry, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat(CalledName(entry.spec.name), ": ", why));
}

absl::Status CheckShard(const VariableEntry& entry, const ShardPlace& shard,
                        int64_t begin, const ShardMap& map) {
  const auto refuse = [&](const std::string& why) {
    return Refuse(entry, absl::StrCat("the shard of rows [", shard.begin, ", ",
                                      shard.end, ") ", why));
  };
  const int64_t rows = entry.spec.shape.num_rows();
  if (shard.begin != begin) {
    return refuse(absl::StrCat("should begin at ", begin));
  }
  if (shard.end > rows || shard.end < begin ||
      (shard.end == begin && rows > 0)) {
    return refuse(absl::StrCat("should have rows, up to ", rows));
  }
  if (shard.end - begin > kMaxShardRows) {
    return refuse(absl::StrCat("has more than ", kMaxShardRows,
                               " rows; use more shards"));
  }
  if (shard.server >= map.servers()) {
    return refuse(absl::StrCat("is on server ", shard.server,
                               ", but the map is of ", map.servers()));
  }
  if (!map.Serves(shard.server)) {
    return refuse(
        absl::StrCat("is on server ", shard.server, ", which is left out"));
  }
  return absl::OkStatus();
}

absl::Status CheckEntry(const VariableEntry& entry, const ShardMap& map) {
  CAPSTAN_RETURN_IF_ERROR(ValidateSpec(entry.spec));
  if (entry.id == UINT32_MAX) {
    return Refuse(entry, absl::StrCat("the id is ", entry.id,
                                      ", after which there is none"));
  }
  const int64_t rows = entry.spec.shape.num_rows();
  const bool one = rows == 0 || IsIndivisible(entry.spec);
  const size_t most = one ? 1 : kMaxShards;
  if (entry.shards.empty() || entry.shards.size() > most) {
    return Refuse(entry, absl::StrCat(entry.shards.size(),
                                      " shards; it must have 1 to ", most));
  }
  int64_t begin = 0;
  for (const ShardPlace& shard : entry.shards) {
    CAPSTAN_RETURN_IF_ERROR(CheckShard(entry, shard, begin, map));
    begin = shard.end;
  }
  if (begin != rows) {
    return Refuse(entry,
                  absl::StrCat("its shards end at row ", begin, " of ", rows));
  }
  return absl::OkStatus();
}

absl::Status CheckLeftOut(const std::vector<uint32_t>& left_out,
                          uint32_t servers) {
  for (size_t i = 0; i < left_out.size(); ++i) {
    if (left_out[i] >= servers || (i > 0 && left_out[i] <= left_out[i - 1])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "server ", left_out[i], " is left out of a map of ", servers,
          i > 0 ? absl::StrCat(", after ", left_out[i - 1]) : ""));
    }
  }
  if (!left_out.empty() && left_out.size() == servers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "all ", servers, " servers are left out of the map: none would serve"));
  }
  return absl::OkStatus();
}

}  // namespace

size_t VariableEntry::ShardOf(int64_t row) const {
  const auto shard = std::upper_bound(
      shards.begin(), shards.end(), row,
      [](int64_t r, const ShardPlace& s) { return r < s.end; });
  return static_cast<size_t>(shard - shards.begin());
}

size_t VariableEntry::row_bytes() const {
  return static_cast<size_t>(spec.shape.row_elements()) * SizeOf(spec.dtype);
}

absl::StatusOr<ShardMap> ShardMap::Make(uint64_t generation, uint64_t version,
                                        uint32_t servers,
                                        std::vector<VariableEntry> entries,
                                        uint32_t next_id,
                                        std::vector<uint32_t> left_out) {
  if (servers > kMaxServers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a map of ", servers, " servers; the most is ", kMaxServers));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckLeftOut(left_out, servers));
  ShardMap map;
  map.generation_ = generation;
  map.version_ = version;
  map.servers_ = servers;
  map.next_id_ = next_id;
  map.left_out_ = std::move(left_out);
  map.by_name_.reserve(entries.size());
  map.by_id_.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const VariableEntry& entry = entries[i];
    CAPSTAN_RETURN_IF_ERROR(CheckEntry(entry, map));
    if (!map.by_name_.emplace(entry.spec.name, i).second) {
      return Refuse(entry, "there are two of that name");
    }
    if (!map.by_id_.emplace(entry.id, i).second) {
      return Refuse(entry, absl::StrCat("another one has its id, ", entry.id));
    }
    map.next_id_ = std::max(map.next_id_, entry.id + 1);
  }
  map.entries_ = std::move(entries);
  return map;
}

absl::StatusOr<ShardMap> ShardMap::Next(
    std::vector<VariableEntry> entries) const {
  return Make(generation_, version_ + 1, servers_, std::move(entries), next_id_,
              left_out_);
}

bool ShardMap::Serves(uint32_t server) const {
  return !std::binary_search(left_out_.begin(), left_out_.end(), server);
}

const VariableEntry* ShardMap::Find(std::string_view name) const {
  const auto found = by_name_.find(absl::string_view(name.data(), name.size()));
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

const VariableEntry* ShardMap::Find(uint32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &entries_[found->second];
}

absl::StatusOr<ShardMap> DropVariables(const ShardMap& map,
                                       std::span<const std::string> names) {
  absl::flat_hash_set<std::string> dropped;
  for (const std::string& name : names) {
    if (map.Find(name) == nullptr) {
      return absl::NotFoundError(
          absl::StrCat(CalledName(name), ": there is none to drop"));
    }
    dropped.insert(name);
  }
  std::vector<VariableEntry> kept;
  for (const VariableEntry& entry : map.entries()) {
    if (!dropped.contains(entry.spec.name)) kept.push_back(entry);
  }
  return map.Next(std::move(kept));
}

Partitioner DefaultPartitioner(uint32_t servers) {
  return MinSize(256 << 10, std::max<int64_t>(1, servers));
}

std::vector<uint64_t> BytesPerServer(const ShardMap& map) {
  std::vector<uint64_t> bytes(map.servers());
  for (const VariableEntry& entry : map.entries()) {
    const uint64_t row = StoredRowBytes(entry.spec);
    for (const ShardPlace& shard : entry.shards) {
      const auto rows = static_cast<uint64_t>(shard.end - shard.begin);
      bytes[shard.server] =
          SaturatingAdd(bytes[shard.server], SaturatingMultiply(rows, row));
    }
  }
  return bytes;
}

}  // namespace capstan
