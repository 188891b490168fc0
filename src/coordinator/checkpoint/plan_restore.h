// Plans which rows to copy where so that the variables of a job get the values
// of a checkpoint, however either of them is sharded. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/checkpoint.h"
#include "checkpoint/manifest.h"
#include "variable/shard_map.h"
#include "wire/snapshot.h"

namespace capstan {

// Rows of a tensor in a file that become rows of a shard.
struct RestoreCopy {
  size_t file = 0;  // index into Manifest::files
  uint32_t server = 0;
  StageCopy copy;
  uint64_t row_bytes = 0;
};

struct RestorePlan {
  std::vector<RestoreCopy> copies;  // by file
  // By server; ascending by key.
  std::vector<std::vector<StageShard>> commits;
  RestoreReport report;
};

// Restores the variables of `map` that `options` select; if `names` is not
// null, only those of them. FailedPrecondition, naming the variables, if one is
// missing or does not match; InvalidArgument for a pattern that matches neither
// a variable of the map nor one of the manifest.
absl::StatusOr<RestorePlan> PlanRestore(const Manifest& manifest,
                                        const ShardMap& map,
                                        const RestoreOptions& options,
                                        const std::set<std::string>* names);

// Sorts the commits in the order that a request requires.
void SortCommits(RestorePlan& plan);

// What the manifest records about the variables of a job. `snapshot` has the
// shards, by server; files are called "server-I.safetensors". Variables without
// values are left out; FailedPrecondition for one of which only some shards
// have values.
absl::StatusOr<std::vector<SavedVariable>> SavedVariablesOf(
    const ShardMap& map, const std::vector<SnapshotReply>& snapshot);
std::string ServerFileName(size_t server);

}  // namespace capstan
