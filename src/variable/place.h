// Assigns shards to servers: numbers only.
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace capstan {

// The bytes of each shard of one variable, and the server of each.
using ShardBytes = std::vector<uint64_t>;
using ShardServers = std::vector<uint32_t>;

// Places the shards of new variables on the servers, of which server i already
// has load[i] bytes. The variable with the largest shard goes first; its
// shards, largest first, go to the least loaded servers, one to each before any
// gets a second. Ties are broken by the given order, and by the lowest server.
// There must be at least one server.
//
// Starting from empty servers, no two servers ever differ by more than the
// largest shard. So the fullest has at most the mean plus (1 - 1 / servers)
// times the largest shard: Graham's bound, which keeping a variable's shards
// apart does not spoil.
std::vector<ShardServers> Place(std::span<const ShardBytes> variables,
                                std::vector<uint64_t> load);

}  // namespace capstan
