// What to ask of each server: the parts of a request, in the order that the
// servers require, and where the data of each comes from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/parameter_client.h"
#include "variable/shard_map.h"
#include "wire/frame.h"
#include "wire/parameter.h"

namespace capstan {

// The variables of a call by ascending id, which is the order of a request.
struct ItemOrder {
  const VariableEntry* entry = nullptr;
  size_t item = 0;  // its index in the call
};

// Aborted: a newer map may have it. NotFound if it was dropped.
absl::Status NoVariable(const ShardMap& map, uint32_t variable);
// InvalidArgument if a variable occurs twice.
absl::Status SortItems(std::vector<ItemOrder>& order);

// The items in order; fails as both functions above do.
template <typename Item>
absl::StatusOr<std::vector<ItemOrder>> OrderItems(const ShardMap& map,
                                                  std::span<const Item> items) {
  std::vector<ItemOrder> order;
  order.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const VariableEntry* entry = map.Find(items[i].variable);
    if (entry == nullptr) return NoVariable(map, items[i].variable);
    order.push_back({.entry = entry, .item = i});
  }
  CAPSTAN_RETURN_IF_ERROR(SortItems(order));
  return order;
}

// "variable 'w' is f32[3, 4], 48 bytes; 12 were given", if they differ.
absl::Status CheckSize(const VariableEntry& entry, uint64_t expected,
                       uint64_t given);

// The shard's version in `versions`; 0 if it has none of this generation.
uint64_t VersionOf(const ShardVersions* versions, const ShardMap& map,
                   uint32_t shard);
void SetVersion(ShardVersions* versions, const ShardMap& map,
                const VariableEntry& entry, uint32_t shard, uint64_t version);

// A shard's part of `bytes`, which are those of the whole variable.
template <typename ByteSpan>
ByteSpan ShardBytes(const VariableEntry& entry, uint32_t shard, ByteSpan bytes,
                    size_t row_bytes) {
  const ShardPlace& place = entry.shards[shard];
  return bytes.subspan(
      static_cast<size_t>(place.begin) * row_bytes,
      static_cast<size_t>(place.end - place.begin) * row_bytes);
}

// The most parts that a request may have, each with one attachment.
inline constexpr size_t kMostParts = FrameLimits().attachment_count;

// The requests of a call by destination, one per destination unless that would
// be too large. Request is a struct with a ShardsRequest `request`.
template <typename Request>
class RequestList {
 public:
  explicit RequestList(size_t places) : places_(places) {}

  // The request for the next part for `place`: it has fewer than `most` parts.
  Request& For(size_t place, size_t most = kMostParts) {
    std::vector<Request>& requests = places_[place];
    if (requests.empty() || requests.back().request.parts.size() == most) {
      requests.emplace_back();
    }
    return requests.back();
  }

  // All requests; each has at least one part.
  std::vector<Request> Take() {
    std::vector<Request> all;
    for (std::vector<Request>& requests : places_) {
      for (Request& request : requests) all.push_back(std::move(request));
    }
    return all;
  }

 private:
  std::vector<std::vector<Request>> places_;
};

// InvalidArgument unless the answer has a version for each of `parts` and, for
// an update, an outcome.
absl::StatusOr<ShardsReply> ReadReply(const std::string& body, size_t parts,
                                      bool update);

}  // namespace capstan
