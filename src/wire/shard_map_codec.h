// The shard map as bytes.
// Thread-safe: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "variable/shard_map.h"

namespace capstan {

// All of the map, about a hundred bytes per variable. The same map gives the
// same bytes.
std::string EncodeShardMap(const ShardMap& map);

// The map that was encoded. Whatever the bytes are, the answer is a map that
// ShardMap::Make finds sound, or InvalidArgument.
absl::StatusOr<ShardMap> DecodeShardMap(std::string_view bytes);

}  // namespace capstan
