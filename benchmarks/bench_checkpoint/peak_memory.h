// The peak resident memory of another process. Linux only.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan::bench {

// Starts a new measurement. The process must be this user's.
absl::Status ResetPeakMemory(pid_t process);
// In bytes.
absl::StatusOr<std::uint64_t> PeakMemory(pid_t process);

}  // namespace capstan::bench
