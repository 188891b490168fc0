// The shard map in its encoded form.
// Thread-safe: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "variable/shard_map.h"

namespace capstan {

// The whole map, about a hundred bytes per variable. Deterministic: equal maps
// give equal bytes.
std::string EncodeShardMap(const ShardMap& map);

// The map that was encoded. For any input, the result is a map that
// ShardMap::Make accepts, or InvalidArgument.
absl::StatusOr<ShardMap> DecodeShardMap(std::string_view bytes);

}  // namespace capstan
