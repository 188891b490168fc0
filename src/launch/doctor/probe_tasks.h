// Calls every task of a cluster and measures the round trips.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "launch/admin_client.h"
#include "wire/membership.h"

namespace capstan {

// How one task answered.
struct TaskProbe {
  static constexpr int kRounds = 11;
  static constexpr size_t kBytes = 4096;

  TaskId task = {};
  std::string address = {};
  // OK if it answered; otherwise as Channel::Call.
  absl::Status status = {};
  // If it did not answer: whether a connection could be made at all (as
  // Network::Connect), and how long the attempt took.
  absl::Status connected = {};
  Duration tried = {};
  // If it answered: its own report, and the median round-trip time of kBytes.
  TaskReport report = {};
  Duration round_trip = {};

  // Whether a peer answered but refused us, or we refused it: another version
  // or job, a wrong certificate. Retrying would not help.
  bool refused() const;
};

// All tasks, in the order of the spec; called in parallel, then measured one at
// a time. Blocks for at most a few times the client's timeout.
std::vector<TaskProbe> ProbeTasks(AdminClient& client);

}  // namespace capstan
