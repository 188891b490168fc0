// How well this machine's loopback network works; every task on it depends on
// it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/async/clock.h"

namespace capstan {

struct LoopbackFacts {
  // OK, or why no connection to 127.0.0.1 can be made: no free port, a
  // firewall.
  absl::Status status = absl::OkStatus();
  // Median round-trip time of one byte.
  Duration round_trip = {};
  // This machine's name, and whether it can be looked up.
  std::string host = {};
  absl::Status host_status = absl::OkStatus();
};

// Connects one free port to another, measures the round trip, and looks up the
// host's name. Blocks: for milliseconds, or as long as the system's lookup
// takes. Thread-safe.
LoopbackFacts ProbeLoopback();

}  // namespace capstan
