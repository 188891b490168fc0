// Memory that a shard has to spare, for what is to be restored into it.
#pragma once

#include "base/async/task.h"
#include "server/shard/shard.h"
#include "server/stage/staged_shard.h"

namespace capstan {

// Lends `staged`, which is for `shard`, what there is. Does nothing but the
// first time.
Task<> LendSpares(Shard& shard, StagedShard& staged);

}  // namespace capstan
