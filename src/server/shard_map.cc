// ShardMap: the shard map, which the coordinator installs and everybody may ask
// for.
#include <utility>

#include "server/request.h"
#include "server/verbs.h"

namespace capstan {

Task<ServerReply> ServeInstall(VerbContext& context, ServerCall& call) {
  absl::StatusOr<InstallRequest> request = DecodeInstallRequest(call.body());
  if (!request.ok()) co_return ErrorReply(request.status());
  absl::Status status =
      co_await context.store.Install(*std::move(request), call);
  co_return ErrorReply(std::move(status));
}

Task<ServerReply> ServeShardMap(VerbContext& context, ServerCall&) {
  ServerReply reply;
  reply.body = context.store.table()->encoded_map;
  co_return reply;
}

}  // namespace capstan
