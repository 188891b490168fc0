// Watermark: steps up to it have ended and need not be remembered individually.
#include <utility>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeWatermark(VerbContext& context, ServerCall& call) {
  const absl::StatusOr<WatermarkRequest> request =
      DecodeWatermarkRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  const TablePtr table = context.store.table();
  absl::Status status = context.store.Admit(request->fence, *table, call);
  if (status.ok()) status = context.store.SetWatermark(*request);
  co_return ErrorReply(std::move(status));
}

}  // namespace capstan
