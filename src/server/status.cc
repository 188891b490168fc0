// Status: what the server holds, and what has happened to it.
#include <algorithm>
#include <asio/this_coro.hpp>
#include <span>
#include <utility>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeStoreStatus(VerbContext& context, ServerCall&) {
  Store& store = context.store;
  co_await store.EndIdleSnapshot(context.clock.Now());
  const TablePtr table = store.table();
  Generation& generation = *table->generation;
  StoreReport report;
  report.fence = {.generation = generation.number, .term = store.term()};
  report.map_version = table->map.version();
  const std::span<const uint32_t> left_out = table->map.left_out();
  report.left_out.assign(left_out.begin(), left_out.end());
  report.bytes_limit = store.budget().limit();
  report.fenced = store.fenced();
  report.last_step = generation.last_step;
  const Executor home = co_await asio::this_coro::executor;
  for (const auto& [key, owned] : table->shards) {
    Shard& shard = *owned;
    TurnEntry entry(home, [&] {
      // A shard that is no longer updated would keep it otherwise.
      shard.Forget(generation.watermark);
      report.variables.push_back(shard.Report());
      report.last_step = std::max(report.last_step, shard.last_step());
    });
    if (!shard.turn().Enter(entry)) co_await entry.Done();
  }
  report.bytes_used = store.budget().used();
  // After the shards: a round that they have was begun before.
  Rounds::Decision commit = generation.rounds.last_begun();
  report.committed_round = commit.round;
  report.committed_replicas = std::move(commit.replicas);
  {
    const std::lock_guard lock(generation.mutex);
    report.watermark = generation.watermark;
    report.record = generation.record;
  }
  std::sort(report.variables.begin(), report.variables.end(),
            [](const VariableReport& a, const VariableReport& b) {
              return std::tie(a.name, a.shard) < std::tie(b.name, b.shard);
            });
  ServerReply reply;
  reply.body = EncodeStoreReport(report);
  co_return reply;
}

}  // namespace capstan
