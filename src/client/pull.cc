// Pull: whole variables, straight into the caller's memory.
#include <utility>

#include "client/parameter_client.h"
#include "client/shard_parts.h"

namespace capstan {
namespace {

// A request to one server.
struct PullPlan {
  ShardsRequest request;
  std::vector<MutableBytes> into;
  std::vector<ItemOrder> sources;  // of the parts
};

absl::StatusOr<std::vector<PullPlan>> Plan(const ShardMap& map,
                                           std::span<const PullItem> items,
                                           uint64_t round) {
  const absl::StatusOr<std::vector<ItemOrder>> order = OrderItems(map, items);
  if (!order.ok()) return order.status();
  RequestList<PullPlan> requests(map.servers());
  for (const ItemOrder& source : *order) {
    const VariableEntry& entry = *source.entry;
    const PullItem& item = items[source.item];
    CAPSTAN_RETURN_IF_ERROR(CheckSize(
        entry, ByteSize(entry.spec.dtype, entry.spec.shape), item.into.size()));
    for (uint32_t shard = 0; shard < entry.shards.size(); ++shard) {
      PullPlan& plan = requests.For(entry.shards[shard].server);
      ShardPart part;
      part.key = {.variable = entry.id, .shard = shard};
      part.version = VersionOf(item.have, map, shard);
      plan.request.parts.push_back(part);
      plan.into.push_back(
          ShardBytes(entry, shard, item.into, entry.row_bytes()));
      plan.sources.push_back(source);
    }
  }
  std::vector<PullPlan> plans = requests.Take();
  for (PullPlan& plan : plans) {
    plan.request.id.fence.generation = map.generation();
    plan.request.id.round = round;
    plan.request.map_version = map.version();
  }
  return plans;
}

// Records the versions received.
absl::Status Finish(const ShardMap& map, std::span<PullItem> items,
                    const PullPlan& plan, const ServerRequest& server_request) {
  const absl::StatusOr<ShardsReply> reply =
      ReadReply(server_request.reply.body, plan.into.size(), false);
  if (!reply.ok()) return reply.status();
  for (size_t i = 0; i < plan.into.size(); ++i) {
    const VariableEntry& entry = *plan.sources[i].entry;
    const ShardPart& part = plan.request.parts[i];
    const size_t came = server_request.reply.attachments[i].size();
    const bool unchanged =
        came == 0 && part.version != 0 && reply->versions[i] == part.version;
    if (!unchanged) {
      CAPSTAN_RETURN_IF_ERROR(CheckSize(entry, plan.into[i].size(), came));
    }
    SetVersion(items[plan.sources[i].item].have, map, entry, part.key.shard,
               reply->versions[i]);
  }
  return absl::OkStatus();
}

}  // namespace

Task<absl::Status> ParameterClient::Pull(std::span<PullItem> items,
                                         ReadOptions options) {
  CAPSTAN_CO_RETURN_IF_ERROR(
      CheckCancelled(options.cancellation, Method::kPull));
  const TimeLimits limits = LimitsOf(options.timeout, options.limit);
  while (true) {
    const std::shared_ptr<const ShardMap> map = map_;
    const std::span<const PullItem> asked = items;
    absl::StatusOr<std::vector<PullPlan>> plans =
        Plan(*map, asked, options.round);
    absl::Status status = plans.status();
    std::vector<ServerRequest> server_requests;
    if (status.ok()) {
      for (PullPlan& plan : *plans) {
        ServerRequest& server_request = server_requests.emplace_back();
        server_request.server =
            plan.sources[0]
                .entry->shards[plan.request.parts[0].key.shard]
                .server;
        server_request.method = Method::kPull;
        server_request.body = EncodeShardsRequest(plan.request);
        server_request.receive_into = plan.into;
      }
      status = co_await FanOut(servers_, server_requests, limits,
                               options.cancellation);
    }
    if (status.ok()) {
      for (size_t i = 0; i < server_requests.size(); ++i) {
        CAPSTAN_CO_RETURN_IF_ERROR(
            Finish(*map, items, (*plans)[i], server_requests[i]));
      }
      co_return absl::OkStatus();
    }
    // Parts of `into` may have been overwritten, so `have` no longer describes
    // it.
    for (PullItem& item : items) {
      if (item.have != nullptr && !server_requests.empty())
        item.have->versions.clear();
    }
    if (!absl::IsAborted(status)) co_return status;
    status = co_await RefreshStale(map, std::move(status), limits,
                                   options.cancellation);
    if (!status.ok()) co_return status;
  }
}

}  // namespace capstan
