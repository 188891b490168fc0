// What has to be copied where to bring the variables of a job to what a
// checkpoint holds, however either is cut. Pure; thread-safe.
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

// Rows of a tensor of a file that become rows of a shard.
struct RestoreCopy {
  size_t file = 0;  // place in Manifest::files
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

// Restores the variables of `map` that `options` name; of those only `names`,
// if it is not null. FailedPrecondition, naming the variables, if one is
// missing or is another one; InvalidArgument for a pattern that is like none,
// here or there.
absl::StatusOr<RestorePlan> PlanRestore(const Manifest& manifest,
                                        const ShardMap& map,
                                        const RestoreOptions& options,
                                        const std::set<std::string>* names);

// Brings the commits into the order that a request needs.
void SortCommits(RestorePlan& plan);

// What the manifest says of the variables of a job. The shards are those of
// `snapshot`, by server; files are called "server-I.safetensors". Variables
// without values are left out; FailedPrecondition for one that has some.
absl::StatusOr<std::vector<SavedVariable>> SavedVariablesOf(
    const ShardMap& map, const std::vector<SnapshotReply>& snapshot);
std::string ServerFileName(size_t server);

}  // namespace capstan
