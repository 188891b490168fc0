// Asks a running job who is there, from outside of it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "capstan/cluster.h"
#include "capstan/resolver.h"

namespace capstan {

struct StatusOptions {
  ResolvedCluster cluster = {};  // its task does not matter
  // As in TaskOptions; the certificate used is that of "admin".
  std::string tls_directory = {};
  Duration timeout = std::chrono::seconds(2);
};

struct JobStatus {
  // Empty if the coordinator answered; else why not, and the tasks are as they
  // say themselves.
  std::string coordinator_error = {};
  uint64_t term = 0;
  std::vector<TaskInfo> tasks = {};
};

// Asks the coordinator; if it does not answer in time, all tasks, each for
// itself. Fails only for what is wrong on this side: the certificates, say.
absl::StatusOr<JobStatus> AskStatus(const StatusOptions& options);

}  // namespace capstan
