// Which server gets which shard: numbers only.
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace capstan {

// The bytes of each shard of one variable, and the servers of each.
using ShardBytes = std::vector<uint64_t>;
using ShardServers = std::vector<uint32_t>;

// Places the shards of new variables onto the servers, of which server i has
// load[i] bytes already. The variable with the largest shard goes first; its
// shards, the largest first, go to the servers that have least so far, to each
// one before to any a second time. Equals go in the order given, and to the
// lowest server. There must be a server.
//
// From empty servers, no two servers ever differ by more than the largest
// shard. So the fullest has at most the mean and (1 - 1 / servers) times that:
// Graham's bound, which keeping the shards of a variable apart does not spoil.
std::vector<ShardServers> Place(std::span<const ShardBytes> variables,
                                std::vector<uint64_t> load);

}  // namespace capstan
