// Copies what a snapshot keeps, so that updates can continue in the copy.
#pragma once

#include "base/async/task.h"
#include "base/status.h"
#include "server/shard/shard.h"

namespace capstan {

// Copies the parts of `shard` that are leased, if they are large; the shard
// then continues with the copies. Meanwhile reads continue and updates wait;
// after every piece the thread is available to others. Does nothing if another
// copy or an update is under way. ResourceExhausted if there is no memory.
Task<absl::Status> CopyLeased(Shard& shard);

}  // namespace capstan
