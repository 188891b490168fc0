// StageCommit: replaces the contents of the shards by what was staged, if that
// is complete.
#include <asio/this_coro.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/request.h"
#include "server/stage/on_disk.h"
#include "server/verbs.h"

namespace capstan {
namespace {

struct Restored {
  Shard* shard = nullptr;
  StageShard request;
  std::shared_ptr<StagedShard> staged;
};

absl::StatusOr<std::vector<Restored>> FindAll(
    const ShardTable& table, const StageCommitRequest& request) {
  std::vector<Restored> all;
  all.reserve(request.shards.size());
  for (const StageShard& wanted : request.shards) {
    const absl::StatusOr<Shard*> shard =
        FindShard(table, wanted.key, request.map_version);
    if (!shard.ok()) return shard.status();
    Restored& restored = all.emplace_back();
    restored.shard = *shard;
    restored.request = wanted;
    restored.staged = table.generation->staging.Find(wanted.key);
    // A shard without rows needs nothing staged; for any other, CheckWhole
    // fails.
    if (restored.staged == nullptr) {
      restored.staged = std::make_shared<StagedShard>(**shard);
    }
    CAPSTAN_RETURN_IF_ERROR(restored.staged->CheckWhole(wanted.slots));
  }
  return all;
}

// Takes memory and time, as slots may be as large as the values.
absl::Status ResetSlots(const std::vector<Restored>& all) {
  for (const Restored& restored : all) {
    if (restored.request.slots) continue;
    CAPSTAN_RETURN_IF_ERROR(restored.staged->ResetSlots());
  }
  return absl::OkStatus();
}

Task<absl::Status> SwapIn(Store& store, const Fence& fence,
                          const Restored& restored) {
  const Executor home = co_await asio::this_coro::executor;
  absl::StatusOr<StagedShard::Parts> parts = restored.staged->Take();
  if (!parts.ok()) co_return parts.status();
  Shard& shard = *restored.shard;
  absl::Status status;
  TurnEntry entry(home, [&] {
    status = store.CheckFence(fence);
    if (status.ok() && shard.dropped()) status = shard.CheckReadable();
    if (!status.ok()) return;
    shard.Restore(*parts,
                  {.updates = restored.request.updates,
                   .momentum_product = restored.request.momentum_product});
  });
  if (!shard.turn().Enter(entry)) co_await entry.Done();
  co_return status;
}

// Sets `begun` once a shard may have changed.
Task<absl::Status> Commit(VerbContext& context, const ShardTable& table,
                          const StageCommitRequest& request, bool& begun) {
  const absl::StatusOr<std::vector<Restored>> all = FindAll(table, request);
  if (!all.ok()) co_return all.status();
  std::function<absl::Status()> reset = [&all] { return ResetSlots(*all); };
  absl::Status status = co_await OnDisk(context.store.disk(), std::move(reset));
  if (!status.ok()) co_return status;
  begun = true;
  for (const Restored& restored : *all) {
    status = co_await SwapIn(context.store, request.fence, restored);
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

}  // namespace

Task<ServerReply> ServeStageCommit(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<StageCommitRequest> request =
      DecodeStageCommitRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status status = context.store.Admit(request->fence, *table, call);
  if (!status.ok()) co_return ErrorReply(std::move(status));
  StagingArea& staging = table->generation->staging;
  const absl::StatusOr<bool> begin = staging.BeginCommit(request->restore_id);
  if (!begin.ok()) co_return ErrorReply(begin.status());
  if (!*begin) co_return ServerReply();  // committed already
  bool begun = false;
  status = co_await Commit(context, *table, *request, begun);
  if (status.ok()) {
    staging.EndCommit(/*done=*/true);
  } else {
    staging.EndCommit(/*done=*/false);
    // A commit that failed half-way, because of a new coordinator or shard map,
    // leaves nothing that can be used again.
    if (begun) staging.Drop(request->restore_id);
  }
  co_return ErrorReply(std::move(status));
}

}  // namespace capstan
