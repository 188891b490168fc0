#include "launch/server_channels.h"

#include <utility>
#include <vector>

namespace capstan {

std::unique_ptr<ParameterClient> NewParameterClient(TaskHost& host) {
  const ClusterSpec& spec = host.options().cluster.spec;
  std::vector<std::unique_ptr<Channel>> channels;
  for (const TaskId& task : spec.tasks()) {
    if (task.role != Role::kPs) continue;
    channels.push_back(
        host.NewChannel(task.ToString(), spec.task_address(task)));
  }
  BackoffOptions backoff;
  backoff.max = std::chrono::milliseconds(500);
  return std::make_unique<ParameterClient>(host.clock(), host.executor(),
                                           std::move(channels),
                                           Random::FromOs(), backoff);
}

}  // namespace capstan
