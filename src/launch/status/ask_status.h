// Asks a job who is there and how its work is going, from outside of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launch/admin_client.h"
#include "wire/closure.h"
#include "wire/membership.h"
#include "wire/parameter.h"

namespace capstan {

// What a parameter server says that it holds, or why it does not.
struct ServerStore {
  std::string task;  // "ps/0"
  absl::StatusOr<StoreReport> report;
};

struct JobStatus {
  // OK if the chief answered; then the tasks are as it says, else as each says
  // of itself. A Refusal: nobody listens at its address.
  absl::Status chief = {};
  uint64_t term = 0;
  std::vector<TaskEntry> tasks = {};
  // Nobody listens at any address of the job.
  bool nobody_listens = false;
  DispatchReport dispatch = {};
  std::vector<ServerStore> stores = {};

  // How many tasks answered, or do as the chief says.
  size_t CountThere() const;
};

// Asks the chief; if it does not answer within half of the time-out of the
// options, all other tasks, each for itself. Asks the servers what they hold.
// Returns by the end of the time-out, with what has been answered. Fails as
// AdminClient::Create does.
absl::StatusOr<JobStatus> AskStatus(const AdminOptions& options);

}  // namespace capstan
