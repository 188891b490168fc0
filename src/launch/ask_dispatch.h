// Asks the coordinator of a running job how its work is going.
#pragma once

#include "absl/status/statusor.h"
#include "launch/admin_client.h"
#include "wire/closure.h"

namespace capstan {

// Fails as AdminClient::Create does, and if the coordinator does not answer.
absl::StatusOr<DispatchReport> AskDispatch(const AdminOptions& options);

}  // namespace capstan
