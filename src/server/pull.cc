// Pull: the values of whole shards, sent from where they are.
#include <asio/this_coro.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServePull(VerbContext& context, ServerCall& call) {
  absl::StatusOr<ShardsCall> found = FindShards(context.store, call);
  if (!found.ok()) co_return ErrorReply(found.status());
  absl::Status ready = co_await AwaitRound(context.clock, call, *found);
  if (!ready.ok()) co_return ErrorReply(std::move(ready));
  const Executor home = co_await asio::this_coro::executor;
  const size_t count = found->shards.size();
  auto leases = std::make_shared<std::vector<Lease>>();
  leases->reserve(count);
  ServerReply reply;
  reply.attachments.reserve(count);
  ShardsReply answer;
  answer.versions.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Shard& shard = *found->shards[i];
    const uint64_t have = found->request.parts[i].version;
    TurnEntry entry(home, [&] {
      reply.status = shard.CheckReadable();
      if (!reply.status.ok()) return;
      answer.versions.push_back(shard.version());
      if (shard.version() > have) leases->push_back(shard.Pull());
    });
    if (!shard.turn().Enter(entry)) co_await entry.Done();
    if (!reply.status.ok()) co_return reply;
    const bool newer = answer.versions.back() > have;
    reply.attachments.push_back(newer ? leases->back().bytes() : Bytes());
  }
  reply.body = EncodeShardsReply(answer);
  reply.owner = std::move(leases);
  co_return reply;
}

}  // namespace capstan
