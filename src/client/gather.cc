// Gather: rows of variables, each requested once.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/parameter_client.h"
#include "client/plan_rows.h"
#include "client/shard_parts.h"

namespace capstan {
namespace {

// The rows of one item, and where they are received.
struct GatherPlan {
  const VariableEntry* entry = nullptr;
  size_t item = 0;
  RowPlan rows;
  Buffer arrived;  // for several shards, unless the rows are in order
};

// A request to one server.
struct ServerGather {
  ShardsRequest request;
  std::vector<Bytes> rows;
  std::vector<MutableBytes> into;
  std::vector<size_t> sources;  // of the parts: GatherPlan indices
};

absl::StatusOr<std::vector<GatherPlan>> PlanItems(
    const ShardMap& map, std::span<const GatherItem> items) {
  const absl::StatusOr<std::vector<ItemOrder>> order = OrderItems(map, items);
  if (!order.ok()) return order.status();
  std::vector<GatherPlan> plans;
  for (const ItemOrder& source : *order) {
    const VariableEntry& entry = *source.entry;
    const GatherItem& item = items[source.item];
    CAPSTAN_RETURN_IF_ERROR(CheckSize(
        entry, item.ids.size() * entry.row_bytes(), item.into.size()));
    absl::StatusOr<RowPlan> rows = PlanRows(entry, item.ids, true);
    if (!rows.ok()) return rows.status();
    GatherPlan plan;
    plan.entry = &entry;
    plan.item = source.item;
    plan.rows = *std::move(rows);
    if (!plan.rows.in_order && !plan.rows.by_appearance) {
      absl::StatusOr<Buffer> arrived =
          Buffer::Allocate(plan.rows.num_rows * entry.row_bytes(), Fill::kNone);
      if (!arrived.ok()) return arrived.status();
      plan.arrived = *std::move(arrived);
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::vector<ServerGather> PlanServers(const ShardMap& map, uint64_t round,
                                      std::span<const GatherItem> items,
                                      std::span<GatherPlan> plans) {
  RequestList<ServerGather> requests(map.servers());
  for (size_t p = 0; p < plans.size(); ++p) {
    GatherPlan& plan = plans[p];
    const VariableEntry& entry = *plan.entry;
    MutableBytes into = plan.arrived.size() == 0 ? items[plan.item].into
                                                 : plan.arrived.mutable_bytes();
    for (const ShardRows& shard : plan.rows.shards) {
      ServerGather& server = requests.For(entry.shards[shard.shard].server);
      const size_t bytes = shard.rows.size() * entry.row_bytes();
      ShardPart part;
      part.key = {.variable = entry.id, .shard = shard.shard};
      server.request.parts.push_back(part);
      server.rows.push_back(std::as_bytes(std::span(shard.rows)));
      server.into.push_back(into.first(bytes));
      server.sources.push_back(p);
      into = into.subspan(bytes);
    }
  }
  std::vector<ServerGather> servers = requests.Take();
  for (ServerGather& server : servers) {
    server.request.id.fence.generation = map.generation();
    server.request.id.round = round;
    server.request.map_version = map.version();
  }
  return servers;
}

// Copies the received rows to the places of their ids.
void Place(const GatherPlan& plan, MutableBytes into) {
  const size_t size = plan.entry->row_bytes();
  if (plan.rows.in_order || size == 0) return;
  const std::span<const uint32_t> place = plan.rows.place;
  if (plan.rows.by_appearance) {
    // The rows are at the start of `into`, and none has to move towards it:
    // going backwards, each is copied before its place is overwritten.
    for (size_t i = place.size(); i-- > 0;) {
      if (place[i] == i) break;  // so are all before it
      std::memcpy(into.data() + i * size, into.data() + place[i] * size, size);
    }
    return;
  }
  const std::byte* rows = plan.arrived.data();
  for (size_t i = 0; i < place.size(); ++i) {
    std::memcpy(into.data() + i * size, rows + place[i] * size, size);
  }
}

absl::Status Finish(const ShardMap& map, std::span<const GatherItem> items,
                    std::span<const GatherPlan> plans,
                    const ServerGather& server,
                    const ServerRequest& server_request) {
  const absl::StatusOr<ShardsReply> reply =
      ReadReply(server_request.reply.body, server.into.size(), false);
  if (!reply.ok()) return reply.status();
  for (size_t i = 0; i < server.into.size(); ++i) {
    const GatherPlan& plan = plans[server.sources[i]];
    CAPSTAN_RETURN_IF_ERROR(
        CheckSize(*plan.entry, server.into[i].size(),
                  server_request.reply.attachments[i].size()));
    SetVersion(items[plan.item].versions, map, *plan.entry,
               server.request.parts[i].key.shard, reply->versions[i]);
  }
  return absl::OkStatus();
}

}  // namespace

Task<absl::Status> ParameterClient::Gather(std::span<GatherItem> items,
                                           ReadOptions options) {
  CAPSTAN_CO_RETURN_IF_ERROR(
      CheckCancelled(options.cancellation, Method::kGather));
  const TimeLimits limits = LimitsOf(options.timeout, options.limit);
  while (true) {
    const std::shared_ptr<const ShardMap> map = map_;
    const std::span<const GatherItem> asked = items;
    absl::StatusOr<std::vector<GatherPlan>> plans = PlanItems(*map, asked);
    absl::Status status = plans.status();
    if (status.ok()) {
      const std::vector<ServerGather> servers =
          PlanServers(*map, options.round, asked, *plans);
      std::vector<ServerRequest> server_requests;
      for (const ServerGather& server : servers) {
        ServerRequest& server_request = server_requests.emplace_back();
        const VariableEntry& entry = *(*plans)[server.sources[0]].entry;
        server_request.server =
            entry.shards[server.request.parts[0].key.shard].server;
        server_request.method = Method::kGather;
        server_request.body = EncodeShardsRequest(server.request);
        server_request.attachments = server.rows;
        server_request.receive_into = server.into;
      }
      status = co_await FanOut(servers_, server_requests, limits,
                               options.cancellation);
      for (size_t i = 0; status.ok() && i < server_requests.size(); ++i) {
        status = Finish(*map, asked, *plans, servers[i], server_requests[i]);
      }
      if (status.ok()) {
        for (const GatherPlan& plan : *plans) {
          Place(plan, asked[plan.item].into);
        }
        co_return absl::OkStatus();
      }
    }
    if (!absl::IsAborted(status)) co_return status;
    status = co_await RefreshStale(map, std::move(status), limits,
                                   options.cancellation);
    if (!status.ok()) co_return status;
  }
}

}  // namespace capstan
