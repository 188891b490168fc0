// SnapshotDrop: drops the snapshot.
#include <utility>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeSnapshotDrop(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<SnapshotRequest> request =
      DecodeSnapshotRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status fence = context.store.Admit(request->fence, *table, call);
  if (!fence.ok()) co_return ErrorReply(std::move(fence));
  SnapshotStore& snapshots = table->generation->snapshots;
  SnapshotPtr dropped = snapshots.Take(request->save_id);
  if (dropped != nullptr) co_await EndSnapshot(std::move(dropped));
  co_return ServerReply();
}

}  // namespace capstan
