// Asks a job from outside who is there and how its work is going.
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

// What a parameter server says it holds, or why it did not answer.
struct ServerStore {
  std::string task;  // "ps/0"
  absl::StatusOr<StoreReport> report;
};

struct JobStatus {
  // OK if the chief answered; `tasks` is then the chief's view, otherwise each
  // task's own answer. A Refusal: nobody listens at the chief's address.
  absl::Status chief = {};
  uint64_t term = 0;
  std::vector<TaskEntry> tasks = {};
  // Nobody listens at any address of the job.
  bool nobody_listens = false;
  DispatchReport dispatch = {};
  std::vector<ServerStore> stores = {};

  // How many tasks answered, or are there according to the chief.
  size_t CountThere() const;
};

// Asks the chief, and if it does not answer within half of the options'
// timeout, every other task. Asks the servers what they hold. Returns by the
// end of the timeout, with the answers received so far. Fails like
// AdminClient::Create.
absl::StatusOr<JobStatus> AskStatus(const AdminOptions& options);

}  // namespace capstan
