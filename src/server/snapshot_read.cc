// SnapshotRead: rows of a shard, or of one of its slots, as they are in the
// snapshot.
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeSnapshotRead(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<SnapshotReadRequest> request =
      DecodeSnapshotReadRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status status = context.store.Admit(request->fence, *table, call);
  if (!status.ok()) co_return ErrorReply(std::move(status));
  SnapshotStore& snapshots = table->generation->snapshots;
  absl::StatusOr<SnapshotPtr> snapshot =
      snapshots.Get(request->save_id, context.clock.Now());
  if (!snapshot.ok()) co_return ErrorReply(snapshot.status());
  const HeldShard* held = (*snapshot)->Find(request->key);
  if (held == nullptr) {
    co_return ErrorReply(absl::NotFoundError(absl::StrCat(
        "snapshot ", request->save_id, " has no shard ", request->key.shard,
        " of variable ", request->key.variable)));
  }
  const Shard& shard = *held->shard;
  status = CheckRange(shard, request->slot, request->begin, request->end);
  if (!status.ok()) co_return ErrorReply(std::move(status));
  const size_t row_bytes = shard.part_row_bytes(request->slot);
  const Bytes part = held->hold.parts[request->slot].bytes();
  ServerReply reply;
  reply.attachments = {part.subspan(
      request->begin * row_bytes, (request->end - request->begin) * row_bytes)};
  reply.owner = *std::move(snapshot);
  co_return reply;
}

}  // namespace capstan
