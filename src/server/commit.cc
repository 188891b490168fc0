// Commit: applies the contributions to a synchronous round as one update of
// each shard.
#include <algorithm>
#include <asio/this_coro.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/request.h"
#include "server/shard/copy_leased.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeCommit(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<RoundRequest> request = DecodeRoundRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status fence = context.store.Admit(request->fence, *table, call);
  if (!fence.ok()) co_return ErrorReply(std::move(fence));
  std::vector<uint32_t> sorted = request->replicas;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    co_return ErrorReply(absl::InvalidArgumentError(absl::StrCat(
        "round ", request->round, " with replica ", *twice, " twice")));
  }
  Generation& generation = *table->generation;
  const uint64_t last = generation.rounds.committed();
  if (request->round > last + 1) {
    co_return ErrorReply(absl::FailedPreconditionError(
        absl::StrCat("round ", request->round,
                     " cannot be committed: the last one was ", last)));
  }
  if (request->round <= last) co_return ServerReply();
  // A coordinator that takes over in the middle must reach the same result.
  absl::Status begun = generation.rounds.Begin(
      request->round, request->replicas,
      [&] { return context.store.CheckFence(request->fence); });
  if (!begun.ok()) co_return ErrorReply(std::move(begun));
  const Executor home = co_await asio::this_coro::executor;
  for (const auto& [key, owned] : table->shards) {
    Shard& shard = *owned;
    absl::Status status;
    bool copy_first = false;
    do {
      TurnEntry entry(home, [&] {
        status = context.store.CheckFence(request->fence);
        if (!status.ok()) return;
        copy_first = shard.RoundNeedsLargeCopy(request->round);
        if (copy_first) return;
        status = shard.CommitRound(request->round, request->replicas,
                                   generation.watermark);
      });
      if (!shard.turn().Enter(entry)) co_await entry.Done();
      if (status.ok() && copy_first) status = co_await CopyLeased(shard);
      if (!status.ok()) co_return ErrorReply(std::move(status));
    } while (copy_first);
  }
  generation.rounds.Commit(request->round);
  co_return ServerReply();
}

}  // namespace capstan
