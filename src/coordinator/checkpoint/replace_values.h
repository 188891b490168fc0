// Replaces the values that the servers hold, all at once. Blocks, on one of the
// caller's threads.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "coordinator/checkpoint/plan_restore.h"
#include "coordinator/checkpoint/stage_tensors.h"
#include "coordinator/coordinator_impl.h"

namespace capstan {

// While nothing runs: calls `stage`, which must stage all copies of `plan`, and
// commits what was staged. If that fails, drops what was staged and changes
// nothing. `restore_id` is random and not 0. The caller holds
// coordinator_impl.changing.
absl::Status ReplaceValues(
    CoordinatorMaker::Impl& coordinator_impl, const RestorePlan& plan,
    uint64_t map_version, uint64_t restore_id,
    const std::function<absl::Status(const StageTarget& target)>& stage);

}  // namespace capstan
