// How this machine's own network does: what every task on it depends on.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/async/clock.h"

namespace capstan {

struct LoopbackFacts {
  // OK, or why no connection to 127.0.0.1 can be made: no free port, a filter.
  absl::Status status = absl::OkStatus();
  // The median time of one byte there and back.
  Duration round_trip = {};
  // The name of this machine, and whether it can be looked up.
  std::string host = {};
  absl::Status host_status = absl::OkStatus();
};

// Makes a connection from a free port to another and measures it, and looks the
// host's name up. Blocks: for milliseconds, or as long as the system's lookup
// takes. Thread-safe.
LoopbackFacts ProbeLoopback();

}  // namespace capstan
