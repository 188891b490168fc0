#include "launch/ask_stores.h"

#include <memory>
#include <utility>

#include "base/event.h"
#include "base/run_on.h"

namespace capstan {
namespace {

struct Countdown {
  explicit Countdown(const Executor& executor) : done(executor) {}
  size_t left = 0;
  Event done;
};

Task<> AskOne(AdminClient& client, TaskId task, ServerStore& store,
              std::shared_ptr<Countdown> count) {
  absl::StatusOr<std::string> body =
      co_await client.Ask(task, Method::kStoreStatus);
  if (body.ok()) {
    store.report = DecodeStoreReport(*body);
  } else {
    store.report = body.status();
  }
  if (--count->left == 0) count->done.Set();
}

Task<std::vector<ServerStore>> AskAll(AdminClient& client) {
  const ClusterSpec& spec = client.options().cluster.spec;
  std::vector<TaskId> servers;
  for (const TaskId& task : spec.tasks()) {
    if (task.role == Role::kPs) servers.push_back(task);
  }
  std::vector<ServerStore> stores(servers.size());
  auto count = std::make_shared<Countdown>(client.executor());
  count->left = servers.size();
  for (size_t i = 0; i < servers.size(); ++i) {
    stores[i].task = servers[i].ToString();
    Spawn(client.executor(), AskOne(client, servers[i], stores[i], count));
  }
  if (!servers.empty()) co_await count->done.Wait();
  co_return stores;
}

}  // namespace

absl::StatusOr<std::vector<ServerStore>> AskStores(
    const AdminOptions& options) {
  absl::StatusOr<std::unique_ptr<AdminClient>> client =
      AdminClient::Create(options);
  if (!client.ok()) return client.status();
  return RunOn((*client)->executor(), AskAll(**client));
}

}  // namespace capstan
