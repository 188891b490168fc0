// Tick: replicas have finished all their updates of a clock.
#include <utility>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeTick(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<RoundRequest> request = DecodeRoundRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status status = context.store.Admit(request->fence, *table, call);
  if (status.ok()) {
    status = table->generation->rounds.Tick(request->round, request->replicas);
  }
  co_return ErrorReply(std::move(status));
}

}  // namespace capstan
