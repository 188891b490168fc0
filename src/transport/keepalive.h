// Tells a dead peer from an idle one.
#pragma once

#include <chrono>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "transport/frame_reader.h"
#include "transport/frame_writer.h"

namespace capstan {

// A peer that has sent nothing for `interval` is pinged; after `timeout`
// without a byte it is considered lost. The defaults detect a stopped process
// within 2 s.
struct KeepaliveOptions {
  Duration interval = std::chrono::milliseconds(500);
  Duration timeout = std::chrono::milliseconds(1500);
};

struct LivenessOptions {
  KeepaliveOptions keepalive;
  // Whether to ping. A lane whose reader may pause for long does not, and
  // relies on the pings of its sibling lane.
  bool ping = true;
  // The longest that a message may make no progress once it has begun,
  // including between two of its frames.
  Duration stall_timeout = std::chrono::seconds(5);
};

// Watches a connection on its executor. Returns why the peer is considered lost
// (Unavailable, with how long it was silent), or OK once `stopped` is true and
// the timer has been cancelled. The arguments must outlive the coroutine.
//
// Time during which this process itself was stopped does not count against the
// peer: waking late restarts the count.
Task<absl::Status> WatchLiveness(Clock& clock, Timer& timer,
                                 FrameReader& reader, FrameWriter& writer,
                                 LivenessOptions options, const bool& stopped);

}  // namespace capstan
