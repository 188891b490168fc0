// Asks the parameter servers of a job what they hold, from outside of it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launch/admin_client.h"
#include "wire/parameter.h"

namespace capstan {

struct ServerStore {
  std::string task;  // "ps/0"
  absl::StatusOr<StoreReport> report;
};

// Asks all of them at once. Fails as AdminClient::Create does; a server that
// does not answer has its error in its entry.
absl::StatusOr<std::vector<ServerStore>> AskStores(const AdminOptions& options);

}  // namespace capstan
