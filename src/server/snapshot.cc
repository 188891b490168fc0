// Snapshot: keeps all shards as they are now, while updates continue elsewhere.
#include <asio/this_coro.hpp>
#include <memory>
#include <utility>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {
namespace {

// The reply says whether memory is set aside for all; errors are of the fence.
Task<absl::Status> HoldAll(Store& store, const Fence& fence,
                           const ShardTable& table, Snapshot& snapshot) {
  const Executor home = co_await asio::this_coro::executor;
  snapshot.reply.copied = true;
  absl::Status status;
  for (const auto& [key, owned] : table.shards) {
    Shard* const shard = owned.get();
    HeldShard held;
    held.shard = owned;
    bool has_values = false;
    TurnEntry entry(home, [&] {
      status = store.CheckFence(fence);
      // A shard that was never assigned, or was just dropped, is not saved.
      has_values = status.ok() && shard->CheckReadable().ok();
      if (has_values && !shard->BeginSnapshot(held.hold)) {
        snapshot.reply.copied = false;
      }
    });
    if (!shard->turn().Enter(entry)) co_await entry.Done();
    if (!status.ok()) co_return status;
    if (!has_values) continue;
    snapshot.reply.shards.push_back(held.hold.info);
    snapshot.shards.push_back(std::move(held));
  }
  co_return absl::OkStatus();
}

// Reserves for only some of the parts are useless.
Task<> ReleaseReserves(const Snapshot& snapshot) {
  const Executor home = co_await asio::this_coro::executor;
  for (const HeldShard& held : snapshot.shards) {
    Shard& shard = *held.shard;
    TurnEntry entry(home, [&] { shard.ReleaseReserves(); });
    if (!shard.turn().Enter(entry)) co_await entry.Done();
  }
}

ServerReply ReplyOf(const Snapshot& snapshot) {
  ServerReply reply;
  reply.body = EncodeSnapshotReply(snapshot.reply);
  return reply;
}

}  // namespace

Task<ServerReply> ServeSnapshot(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<SnapshotRequest> request =
      DecodeSnapshotRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status status = context.store.Admit(request->fence, *table, call);
  if (!status.ok()) co_return ErrorReply(std::move(status));
  Generation& generation = *table->generation;
  absl::StatusOr<SnapshotStore::Begun> begun =
      generation.snapshots.Begin(request->save_id, context.clock.Now());
  if (!begun.ok()) co_return ErrorReply(begun.status());
  if (begun->same != nullptr) co_return ReplyOf(*begun->same);
  if (begun->old != nullptr) {
    // Its memory is needed for the new one.
    SnapshotPtr old = std::exchange(begun->old, nullptr);
    co_await EndSnapshot(std::move(old));
  }
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->save_id = request->save_id;
  status = co_await HoldAll(context.store, request->fence, *table, *snapshot);
  if (status.ok()) {
    if (!snapshot->reply.copied) co_await ReleaseReserves(*snapshot);
    snapshot->reply.watermark = generation.watermark;
    snapshot->reply.committed_round = generation.rounds.committed();
    status = generation.snapshots.Finish(snapshot, context.clock.Now());
  } else {
    generation.snapshots.Abandon();
  }
  if (!status.ok()) {
    co_await EndSnapshot(std::move(snapshot));
    co_return ErrorReply(std::move(status));
  }
  co_return ReplyOf(*snapshot);
}

}  // namespace capstan
