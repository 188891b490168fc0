#include "variable/place.h"

#include <algorithm>
#include <numeric>

#include "variable/stored_bytes.h"

namespace capstan {
namespace {

uint64_t Largest(const ShardBytes& shards) {
  return shards.empty() ? 0 : *std::max_element(shards.begin(), shards.end());
}

// The numbers [0, count), stably sorted by `before`.
template <typename Before>
std::vector<uint32_t> Order(size_t count, const Before& before) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

ShardServers PlaceOne(const ShardBytes& shards, std::vector<uint64_t>& load) {
  ShardServers places(shards.size());
  const auto put = [&](size_t shard, uint32_t server) {
    places[shard] = server;
    load[server] = SaturatingAdd(load[server], shards[shard]);
  };
  if (shards.size() == 1) {  // the usual case, without sorting
    put(0, static_cast<uint32_t>(std::min_element(load.begin(), load.end()) -
                                 load.begin()));
    return places;
  }
  const auto by_bytes = Order(shards.size(), [&](uint32_t a, uint32_t b) {
    return shards[a] > shards[b];
  });
  // In rounds of one shard per server.
  for (size_t next = 0; next < by_bytes.size();) {
    const auto by_load = Order(
        load.size(), [&](uint32_t a, uint32_t b) { return load[a] < load[b]; });
    for (uint32_t server : by_load) {
      if (next == by_bytes.size()) break;
      put(by_bytes[next++], server);
    }
  }
  return places;
}

}  // namespace

std::vector<ShardServers> Place(std::span<const ShardBytes> variables,
                                std::vector<uint64_t> load) {
  std::vector<uint64_t> largest(variables.size());
  std::transform(variables.begin(), variables.end(), largest.begin(), Largest);
  const auto order = Order(variables.size(), [&](uint32_t a, uint32_t b) {
    return largest[a] > largest[b];
  });
  std::vector<ShardServers> places(variables.size());
  for (uint32_t variable : order) {
    places[variable] = PlaceOne(variables[variable], load);
  }
  return places;
}

}  // namespace capstan
