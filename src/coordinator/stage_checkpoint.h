// Brings the files of a checkpoint to the servers, verified, beside what they
// hold; and makes it what they hold. Blocks, on a thread of the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/cancellation.h"
#include "base/file_system.h"
#include "base/task.h"
#include "checkpoint/directory.h"
#include "client/parameter_client.h"
#include "coordinator/plan_restore.h"
#include "coordinator/write_snapshot.h"

namespace capstan {

struct CheckpointToStage {
  Executor executor;  // of the client; another thread runs it
  ParameterClient* client = nullptr;
  Fence fence;
  uint64_t map_version = 0;
  uint64_t restore_id = 0;
  std::shared_ptr<Cancellation> until_lost;  // a server; may be null
};

// Stages all copies of `plan`: by the servers if they see the files, else by
// reading them here. DataLoss, naming file and tensor. What was staged before
// an error is to be dropped.
absl::Status StageCheckpoint(const CheckpointToStage& target,
                             const RestorePlan& plan, FileSystem& files,
                             const std::string& path, const Manifest& manifest,
                             const SharedPath& shared);

absl::Status CommitStaged(const CheckpointToStage& target,
                          const RestorePlan& plan);

}  // namespace capstan
