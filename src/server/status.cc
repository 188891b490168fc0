// Status: what the server holds and what has happened to it.
#include <algorithm>
#include <asio/this_coro.hpp>
#include <utility>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeStoreStatus(VerbContext& context, ServerCall&) {
  const Store& store = context.store;
  const ShardTable& table = store.table();
  StoreReport report;
  report.fence = {.generation = table.generation->number, .term = store.term()};
  report.map_version = table.map.version();
  report.watermark = table.generation->watermark;
  report.committed_round = table.generation->rounds.committed();
  report.bytes_used = store.budget().used();
  report.bytes_limit = store.budget().limit();
  report.fenced = store.fenced();
  const Executor home = co_await asio::this_coro::executor;
  for (const auto& [key, owned] : table.shards) {
    Shard& shard = *owned;
    TurnEntry entry(home, [&] { report.variables.push_back(shard.Report()); });
    if (!shard.turn().Enter(entry)) co_await entry.Done();
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
