#include "launch/ask_dispatch.h"

#include <memory>

#include "base/run_on.h"

namespace capstan {

absl::StatusOr<DispatchReport> AskDispatch(const AdminOptions& options) {
  absl::StatusOr<std::unique_ptr<AdminClient>> client =
      AdminClient::Create(options);
  if (!client.ok()) return client.status();
  const TaskId chief{Role::kChief, 0};
  const absl::StatusOr<std::string> body = RunOn(
      (*client)->executor(), (*client)->Ask(chief, Method::kDispatchStatus));
  if (!body.ok()) return body.status();
  return DecodeDispatchReport(*body);
}

}  // namespace capstan
