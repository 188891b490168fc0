// Sends the files of a checkpoint to the servers, verified, to be staged beside
// the live values. Blocks, on one of the caller's threads.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/file/file_system.h"
#include "checkpoint/directory.h"
#include "coordinator/checkpoint/plan_restore.h"
#include "coordinator/checkpoint/stage_tensors.h"
#include "coordinator/checkpoint/write_snapshot.h"

namespace capstan {

// Stages all copies of `plan`: the servers read the files if they see them,
// else this process does. DataLoss, naming file and tensor. After an error the
// caller drops what was staged.
absl::Status StageCheckpoint(const StageTarget& target, const RestorePlan& plan,
                             FileSystem& files, const std::string& path,
                             const Manifest& manifest,
                             const SharedPath& shared);

}  // namespace capstan
