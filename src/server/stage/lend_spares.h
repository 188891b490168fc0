// Lends a shard's spare memory to the values that are restored into it.
#pragma once

#include "base/async/task.h"
#include "server/shard/shard.h"
#include "server/stage/staged_shard.h"

namespace capstan {

// Lends the spare memory of `shard` to `staged`, which is for that shard. Only
// the first call does anything.
Task<> LendSpares(Shard& shard, StagedShard& staged);

}  // namespace capstan
