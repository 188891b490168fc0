// How a silent peer is told from a quiet one.
#pragma once

#include <chrono>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "transport/frame_reader.h"
#include "transport/frame_writer.h"

namespace capstan {

// A peer that has sent nothing for `interval` is pinged; one that has sent
// nothing for `timeout` is given up. The defaults report a stopped process
// within 2 s.
struct KeepaliveOptions {
  Duration interval = std::chrono::milliseconds(500);
  Duration timeout = std::chrono::milliseconds(1500);
};

struct LivenessOptions {
  KeepaliveOptions keepalive;
  // Whether to ping. Lanes whose reader may pause for long do not, and leave
  // it to the lane beside them.
  bool ping = true;
  // A message that has begun must go on within this time, also from one of its
  // frames to the next.
  Duration stall_timeout = std::chrono::seconds(5);
};

// Watches a connection on its executor; returns why its peer must be given up
// (Unavailable, with the time it was silent), or OK once `stopped` is true and
// the timer has been cancelled. The arguments must outlive the coroutine.
//
// If this process itself was stopped, its silence is not held against the
// peer: waking late restarts the count.
Task<absl::Status> WatchLiveness(Clock& clock, Timer& timer,
                                 FrameReader& reader, FrameWriter& writer,
                                 LivenessOptions options, const bool& stopped);

}  // namespace capstan
