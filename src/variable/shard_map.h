// Which server holds which rows of which variable. The coordinator makes the
// map, every server stores it, and clients fetch it from servers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "capstan/partitioner.h"
#include "capstan/variable.h"

namespace capstan {

inline constexpr uint32_t kMaxServers = 65536;

// Rows [begin, end) of a variable on a server.
struct ShardPlace {
  int64_t begin = 0;
  int64_t end = 0;
  uint32_t server = 0;
  friend bool operator==(const ShardPlace&, const ShardPlace&) = default;
};

struct VariableEntry {
  uint32_t id = 0;  // unique in the job forever; AddVariables starts at 1
  VariableSpec spec;
  // Adjacent, in order, covering all rows, none empty; a variable without rows
  // has one empty shard. A scalar has one row.
  std::vector<ShardPlace> shards;

  // The shard that holds `row`, which must exist.
  size_t ShardOf(int64_t row) const;
  // Bytes of the values of one row.
  size_t row_bytes() const;
};

// A value. Thread-safe: immutable once made.
class ShardMap {
 public:
  ShardMap() = default;
  // InvalidArgument if the entries are inconsistent: a duplicate name or id,
  // gaps or overlaps between shards, a shard of more than kMaxShardRows, a
  // server outside [0, servers), more than kMaxServers, more than one shard of
  // a variable that must be in one piece (variable/partition.h), an invalid
  // spec (variable/validate.h).
  //
  // `next_id` is above all ids that the job has ever used, including those of
  // dropped variables; it is raised above those of the entries.
  //
  // `left_out` are servers that the job continues without, ascending; at least
  // one server must remain.
  static absl::StatusOr<ShardMap> Make(uint64_t generation, uint64_t version,
                                       uint32_t servers,
                                       std::vector<VariableEntry> entries,
                                       uint32_t next_id = 1,
                                       std::vector<uint32_t> left_out = {});
  // The next map: with other entries, one version higher, and otherwise the
  // same.
  absl::StatusOr<ShardMap> Next(std::vector<VariableEntry> entries) const;

  uint64_t generation() const { return generation_; }
  uint64_t version() const { return version_; }
  // All servers of the job, including those left out: numbers do not change.
  uint32_t servers() const { return servers_; }
  // These hold nothing, and nobody contacts them.
  std::span<const uint32_t> left_out() const { return left_out_; }
  bool Serves(uint32_t server) const;
  // How many servers are not left out.
  uint32_t num_serving() const {
    return servers_ - static_cast<uint32_t>(left_out_.size());
  }
  uint32_t next_id() const { return next_id_; }
  std::span<const VariableEntry> entries() const { return entries_; }

  // Null if there is none. The entry lives as long as the map.
  const VariableEntry* Find(std::string_view name) const;
  const VariableEntry* Find(uint32_t id) const;

 private:
  uint64_t generation_ = 0;
  uint64_t version_ = 0;
  uint32_t servers_ = 0;
  uint32_t next_id_ = 1;
  std::vector<uint32_t> left_out_;
  std::vector<VariableEntry> entries_;
  absl::flat_hash_map<std::string, size_t> by_name_;
  absl::flat_hash_map<uint32_t, size_t> by_id_;
};

// `map` with `specs` added: split by `partitioner`, and placed by bytes,
// including the optimizer's slots (variable/place.h): the variable with the
// largest shards first, each shard on the least loaded server, those of one
// variable on different servers as far as possible. A colocated variable goes
// where the first shard of the other one is, which may be one of `specs`.
// Existing variables stay where they are.
//
// The order of the specs does not matter. New ids ascend by name. The version
// is one higher. Errors name the variable: AlreadyExists if the name is taken,
// otherwise InvalidArgument; FailedPrecondition if there is no server.
absl::StatusOr<ShardMap> AddVariables(const ShardMap& map,
                                      std::vector<VariableSpec> specs,
                                      const Partitioner& partitioner);

// `map` without `names`, one version higher. NotFound if there is no such
// variable. Variables colocated with a dropped one stay.
absl::StatusOr<ShardMap> DropVariables(const ShardMap& map,
                                       std::span<const std::string> names);

// `map` with the learning rate of the optimizers of `names` set to `rate`, one
// version higher. NotFound if there is no such variable, FailedPrecondition if
// it has no optimizer, InvalidArgument for an invalid rate.
absl::StatusOr<ShardMap> SetLearningRate(const ShardMap& map,
                                         std::span<const std::string> names,
                                         const LearningRate& rate);

// `map` as the first of `generation`, on the servers without `left_out`: the
// same variables, split as they are. If exactly those servers were left out
// already, everything stays where it is; otherwise all shards are placed again,
// as AddVariables does it. InvalidArgument if no server would be left.
absl::StatusOr<ShardMap> PlaceAnew(const ShardMap& map, uint64_t generation,
                                   std::vector<uint32_t> left_out);

// The default: MinSize(256 KiB, at most one shard per server).
Partitioner DefaultPartitioner(uint32_t servers);

// Bytes on each server, slots included.
std::vector<uint64_t> BytesPerServer(const ShardMap& map);

}  // namespace capstan
