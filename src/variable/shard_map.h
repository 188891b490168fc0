// Which server holds which rows of which variable. The coordinator makes the
// map, every server keeps it, and clients ask them for it.
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
  uint32_t id = 0;  // unique in the job for ever; AddVariables starts at 1
  VariableSpec spec;
  // Adjacent, in order, all rows, none empty; but of a variable without rows
  // one that is empty. A scalar has one row.
  std::vector<ShardPlace> shards;

  // The shard that holds `row`, which must be one of the variable's.
  size_t ShardOf(int64_t row) const;
  // Bytes of a row of values.
  size_t row_bytes() const;
};

// A value. Thread-safe: immutable after it was made.
class ShardMap {
 public:
  ShardMap() = default;
  // InvalidArgument if the entries make no sense together: a name or id twice,
  // gaps or overlaps between shards, a shard of more than kMaxShardRows, a
  // server outside [0, servers), more than kMaxServers, more than one shard of
  // a variable that must be in one piece (variable/partition.h), a spec that
  // is not valid (variable/validate.h).
  //
  // `next_id` is above all ids that the job has ever used, those of dropped
  // variables too; it is raised above those of the entries.
  //
  // `left_out` are servers that the job goes on without, ascending; there must
  // be another one.
  static absl::StatusOr<ShardMap> Make(uint64_t generation, uint64_t version,
                                       uint32_t servers,
                                       std::vector<VariableEntry> entries,
                                       uint32_t next_id = 1,
                                       std::vector<uint32_t> left_out = {});
  // The map after this one: with other entries, one version higher, and all
  // else as it is.
  absl::StatusOr<ShardMap> Next(std::vector<VariableEntry> entries) const;

  uint64_t generation() const { return generation_; }
  uint64_t version() const { return version_; }
  // All that the job has, those that are left out too: their numbers stay.
  uint32_t servers() const { return servers_; }
  // They hold nothing, and nobody asks them.
  std::span<const uint32_t> left_out() const { return left_out_; }
  bool Serves(uint32_t server) const;
  // How many do.
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

// The map after `map` with `specs` added: cut by `partitioner`, and placed by
// bytes, the slots of the optimizer included (variable/place.h): the variable
// with the largest shards first, each shard onto the server that has least so
// far, those of one variable on different servers as far as there are. A
// colocated variable goes where the first shard of the other one is, which
// may be one of `specs`. What is there stays where it is.
//
// The order of the specs does not matter. New ids ascend by name. The version
// is one higher. Errors name the variable: AlreadyExists if there is one of
// that name, else InvalidArgument; FailedPrecondition if there is no server.
absl::StatusOr<ShardMap> AddVariables(const ShardMap& map,
                                      std::vector<VariableSpec> specs,
                                      const Partitioner& partitioner);

// The map after `map` without `names`, one version higher. NotFound if there is
// no such variable. Those colocated with a dropped one stay.
absl::StatusOr<ShardMap> DropVariables(const ShardMap& map,
                                       std::span<const std::string> names);

// The map after `map` in which the optimizers of `names` have the learning rate
// `rate`, one version higher. NotFound if there is no such variable,
// FailedPrecondition if it has no optimizer, InvalidArgument for a rate that
// makes no sense.
absl::StatusOr<ShardMap> SetLearningRate(const ShardMap& map,
                                         std::span<const std::string> names,
                                         const LearningRate& rate);

// `map` as the first of `generation`, on the servers without `left_out`: the
// same variables, cut as they are. If those were left out already, everything
// stays where it is; else all shards are placed anew, as AddVariables does it.
// InvalidArgument if no server would be left.
absl::StatusOr<ShardMap> PlaceAnew(const ShardMap& map, uint64_t generation,
                                   std::vector<uint32_t> left_out);

// The default: MinSize(256 KiB, at most one shard per server).
Partitioner DefaultPartitioner(uint32_t servers);

// Bytes on each server, slots included.
std::vector<uint64_t> BytesPerServer(const ShardMap& map);

}  // namespace capstan
