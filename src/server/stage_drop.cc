// StageDrop: drops what was staged for a restore.
#include <utility>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeStageDrop(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<StageDropRequest> request =
      DecodeStageDropRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status status = context.store.Admit(request->fence, *table, call);
  if (status.ok()) table->generation->staging.Drop(request->restore_id);
  co_return ErrorReply(std::move(status));
}

}  // namespace capstan
