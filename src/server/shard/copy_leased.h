// Copying what a snapshot keeps, so that updates can go on in the copy.
#pragma once

#include "base/async/task.h"
#include "base/status.h"
#include "server/shard/shard.h"

namespace capstan {

// Makes copies of the parts of `shard` that are leased, if they are large, and
// the shard goes on with them. Reads go on meanwhile, updates wait; others get
// the thread after every piece. Does nothing if another copy, or an update, is
// under way. ResourceExhausted if there is no memory.
Task<absl::Status> CopyLeased(Shard& shard);

}  // namespace capstan
