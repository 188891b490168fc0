// The verbs of a parameter server, one file each. Each serves one call; errors
// are in the reply. wire/parameter.h and wire/snapshot.h define requests and
// replies.
#pragma once

#include "base/async/clock.h"
#include "base/async/task.h"
#include "server/store.h"
#include "wire/service.h"

namespace capstan {

// What the verbs work on; both outlive the calls.
struct VerbContext {
  Store& store;
  Clock& clock;
};

Task<ServerReply> ServeInstall(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeShardMap(VerbContext& context, ServerCall& call);
Task<ServerReply> ServePull(VerbContext& context, ServerCall& call);
Task<ServerReply> ServePush(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeGather(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeScatter(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeRead(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeCommit(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeTick(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeWatermark(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeStoreStatus(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeSnapshot(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeSnapshotRead(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeSnapshotWrite(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeSnapshotDrop(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeStageRows(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeStageFile(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeStageCommit(VerbContext& context, ServerCall& call);
Task<ServerReply> ServeStageDrop(VerbContext& context, ServerCall& call);

}  // namespace capstan
