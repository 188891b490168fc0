// Asks a running job who is there, from outside of it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/cluster.h"
#include "launch/admin_client.h"

namespace capstan {

struct JobStatus {
  // Empty if the coordinator answered; else why not, and the tasks are as they
  // say themselves.
  std::string coordinator_error = {};
  uint64_t term = 0;
  std::vector<TaskInfo> tasks = {};
};

// Asks the coordinator; if it does not answer in time, all tasks, each for
// itself. Fails as AdminClient::Create does.
absl::StatusOr<JobStatus> AskStatus(const AdminOptions& options);

}  // namespace capstan
