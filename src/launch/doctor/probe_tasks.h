// Calls every task of a cluster, and measures the way there and back.
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
  // OK if it did; else as Channel::Call.
  absl::Status status = {};
  // If it did not answer: whether a connection could be made at all (as
  // Network::Connect), and how long trying took.
  absl::Status connected = {};
  Duration tried = {};
  // If it did: what it says of itself, and the median time that kBytes took
  // there and back.
  TaskReport report = {};
  Duration round_trip = {};

  // Whether somebody answered who then refused us, or whom we refuse: another
  // version or job, a wrong certificate. Trying again would not help.
  bool refused() const;
};

// All tasks, in the order of the spec; they are called at once, and measured
// one after the other. Blocks for a few times the client's time-out at most.
std::vector<TaskProbe> ProbeTasks(AdminClient& client);

}  // namespace capstan
