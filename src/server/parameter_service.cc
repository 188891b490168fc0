#include "server/parameter_service.h"

namespace capstan {

Task<ServerReply> ParameterService::Serve(ServerCall& call) {
  switch (call.method()) {
    case Method::kInstall:
      return ServeInstall(context_, call);
    case Method::kShardMap:
      return ServeShardMap(context_, call);
    case Method::kPull:
      return ServePull(context_, call);
    case Method::kPush:
      return ServePush(context_, call);
    case Method::kGather:
      return ServeGather(context_, call);
    case Method::kScatter:
      return ServeScatter(context_, call);
    case Method::kRead:
      return ServeRead(context_, call);
    case Method::kCommit:
      return ServeCommit(context_, call);
    case Method::kTick:
      return ServeTick(context_, call);
    case Method::kWatermark:
      return ServeWatermark(context_, call);
    case Method::kStoreStatus:
      return ServeStoreStatus(context_, call);
    case Method::kSnapshot:
      return ServeSnapshot(context_, call);
    case Method::kSnapshotRead:
      return ServeSnapshotRead(context_, call);
    case Method::kSnapshotWrite:
      return ServeSnapshotWrite(context_, call);
    case Method::kSnapshotDrop:
      return ServeSnapshotDrop(context_, call);
    case Method::kStageRows:
      return ServeStageRows(context_, call);
    case Method::kStageFile:
      return ServeStageFile(context_, call);
    case Method::kStageCommit:
      return ServeStageCommit(context_, call);
    case Method::kStageDrop:
      return ServeStageDrop(context_, call);
    default:
      return next_.Serve(call);
  }
}

}  // namespace capstan
