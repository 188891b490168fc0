// What can be asked of a task. The numbers are on the wire: never reuse one.
#pragma once

#include <cstdint>

namespace capstan {

enum class Method : uint16_t {
  // Probe: measures a link (`capstan doctor`, bench_wire, the tests).
  kProbeEcho = 1,    // answers the same body and attachments
  kProbeSink = 2,    // receives the attachments and answers their size
  kProbeSource = 3,  // answers with as many bytes as asked for

  // Membership (wire/membership.h).
  kMemberBeat = 16,  // the coordinator to a task: I am here, are you?
  kMemberEnd = 17,   // the coordinator to a task: the job is over
  kTaskStatus = 18,  // anybody to a task: its TaskReport
  kJobStatus = 19,   // anybody to the coordinator: its JobReport
  kJobJoin = 20,     // a new worker to the coordinator: I am here

  // Parameter servers (wire/parameter.h).
  kInstall = 32,      // the coordinator: this is the shard map
  kShardMap = 33,     // anybody: the shard map
  kPull = 34,         // the values of whole shards
  kPush = 35,         // an update of whole shards
  kGather = 36,       // some rows of shards
  kScatter = 37,      // an update of some rows
  kRead = 38,         // a range of rows of one shard, or of a slot
  kCommit = 39,       // the coordinator: a synchronous round is complete
  kTick = 40,         // replicas are done with a clock
  kWatermark = 41,    // the coordinator: these steps are over
  kStoreStatus = 42,  // anybody: a StoreReport

  // Parameter servers, saving (wire/snapshot.h).
  kSnapshot = 43,       // the coordinator: keep all as it is now
  kSnapshotRead = 44,   // the coordinator: rows of that
  kSnapshotWrite = 45,  // the coordinator: write it to a file
  kSnapshotDrop = 46,   // the coordinator: forget it

  // Workers (wire/closure.h).
  kWorkerAttach = 48,    // the coordinator: begins a session
  kWorkerRun = 49,       // the coordinator: runs a closure to its end
  kWorkerCancel = 50,    // the coordinator: closures are to end
  kWorkerMake = 51,      // the coordinator: makes a per-worker resource
  kWorkerDrop = 52,      // the coordinator: drops some
  kWorkerStatus = 53,    // anybody: a WorkerReport
  kDispatchStatus = 54,  // anybody to the coordinator: a DispatchReport

  // Parameter servers, restoring (wire/snapshot.h).
  kStageRows = 55,    // the coordinator: rows that are to be
  kStageFile = 56,    // the coordinator: the same, from a file
  kStageCommit = 57,  // the coordinator: let them be
  kStageDrop = 58,    // the coordinator: forget them
};

}  // namespace capstan
