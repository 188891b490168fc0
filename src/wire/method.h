// What can be asked of a task. The numbers are on the wire: never reuse one.
#pragma once

#include <cstdint>

namespace capstan {

enum class Method : uint16_t {
  // Probe: measures a link (`capstan doctor`, bench_wire, the tests).
  kProbeEcho = 1,    // answers with the same body and attachments
  kProbeSink = 2,    // receives the attachments and answers with their size
  kProbeSource = 3,  // answers with as many bytes as asked for

  // Membership (wire/membership.h).
  kMemberBeat = 16,  // the coordinator to a task: heartbeat
  kMemberEnd = 17,   // the coordinator to a task: the job has ended
  kTaskStatus = 18,  // anyone to a task: its TaskReport
  kJobStatus = 19,   // anyone to the coordinator: its JobReport
  kJobJoin = 20,     // a new worker to the coordinator: asks to join

  // Parameter servers (wire/parameter.h).
  kInstall = 32,      // the coordinator: installs the shard map
  kShardMap = 33,     // anyone: the shard map
  kPull = 34,         // the values of whole shards
  kPush = 35,         // an update of whole shards
  kGather = 36,       // some rows of shards
  kScatter = 37,      // an update of some rows
  kRead = 38,         // a range of rows of one shard, or of a slot
  kCommit = 39,       // the coordinator: a synchronous round is complete
  kTick = 40,         // replicas have finished a clock
  kWatermark = 41,    // the coordinator: these steps have ended
  kStoreStatus = 42,  // anyone: a StoreReport

  // Parameter servers, saving (wire/snapshot.h).
  kSnapshot = 43,       // the coordinator: keep all values as they are now
  kSnapshotRead = 44,   // the coordinator: rows of the snapshot
  kSnapshotWrite = 45,  // the coordinator: write the snapshot to a file
  kSnapshotDrop = 46,   // the coordinator: drop the snapshot

  // Workers (wire/closure.h).
  kWorkerAttach = 48,    // the coordinator: begins a session
  kWorkerRun = 49,       // the coordinator: runs a closure to completion
  kWorkerCancel = 50,    // the coordinator: cancels closures
  kWorkerMake = 51,      // the coordinator: makes a per-worker resource
  kWorkerDrop = 52,      // the coordinator: drops resources
  kWorkerStatus = 53,    // anyone: a WorkerReport
  kDispatchStatus = 54,  // anyone to the coordinator: a DispatchReport

  // Parameter servers, restoring (wire/snapshot.h).
  kStageRows = 55,    // the coordinator: stages rows
  kStageFile = 56,    // the coordinator: stages rows from a file
  kStageCommit = 57,  // the coordinator: makes the staged rows live
  kStageDrop = 58,    // the coordinator: drops the staged rows
};

}  // namespace capstan
