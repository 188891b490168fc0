// Assigns servers to the shards of variables that are already split.
#pragma once

#include <vector>

#include "base/status.h"
#include "variable/shard_map.h"

namespace capstan {

// `added`, which must be sorted by name, with servers assigned to their shards:
// placed by bytes beside what `map` has, on the servers that serve in it, as
// AddVariables describes. InvalidArgument if colocate_with names a variable
// that is in neither, or is circular. There must be at least one server.
absl::StatusOr<std::vector<VariableEntry>> PlaceEntries(
    const ShardMap& map, std::vector<VariableEntry> added);

}  // namespace capstan
