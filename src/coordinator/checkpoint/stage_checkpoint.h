// Brings the files of a checkpoint to the servers, verified, beside what they
// hold. Blocks, on a thread of the caller's.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/file/file_system.h"
#include "checkpoint/directory.h"
#include "coordinator/checkpoint/plan_restore.h"
#include "coordinator/checkpoint/stage_tensors.h"
#include "coordinator/checkpoint/write_snapshot.h"

namespace capstan {

// Stages all copies of `plan`: by the servers if they see the files, else by
// reading them here. DataLoss, naming file and tensor. What was staged before
// an error is to be dropped.
absl::Status StageCheckpoint(const StageTarget& target, const RestorePlan& plan,
                             FileSystem& files, const std::string& path,
                             const Manifest& manifest,
                             const SharedPath& shared);

}  // namespace capstan
