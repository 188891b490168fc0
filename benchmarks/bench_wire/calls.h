// One call to a ProbeService for each kind that is measured.
#pragma once

#include "absl/status/status.h"
#include "base/async/task.h"
#include "base/bytes.h"
#include "wire/channel.h"

namespace capstan {

// Sends `from` and receives the same number of bytes back into `into`.
Task<absl::Status> Echo(Channel& channel, Bytes from, MutableBytes into);

// Receives into.size() bytes, in place.
Task<absl::Status> Pull(Channel& channel, MutableBytes into);

// Sends `from` without copying it.
Task<absl::Status> Push(Channel& channel, Bytes from);

}  // namespace capstan
