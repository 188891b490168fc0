// Which server gets which shard of variables that are cut already.
#pragma once

#include <vector>

#include "base/status.h"
#include "variable/shard_map.h"

namespace capstan {

// `added`, sorted by name, with the servers of their shards: placed by bytes
// beside what `map` has, onto the servers that serve in it, as AddVariables
// says. InvalidArgument if colocate_with names a variable that is in neither,
// or goes in a circle. There must be a server.
absl::StatusOr<std::vector<VariableEntry>> PlaceEntries(
    const ShardMap& map, std::vector<VariableEntry> added);

}  // namespace capstan
