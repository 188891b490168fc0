#include "coordinator/checkpoint/replace_values.h"

#include <chrono>
#include <future>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/async/run_on.h"
#include "base/status.h"
#include "coordinator/closure/queue_pause.h"
#include "coordinator/until_lost.h"

namespace capstan {
namespace {

absl::Status Commit(const StageTarget& target, const RestorePlan& plan) {
  std::vector<std::future<absl::Status>> begun;
  for (uint32_t i = 0; i < plan.commits.size(); ++i) {
    if (plan.commits[i].empty()) continue;
    StageCommitRequest request;
    request.fence = target.fence;
    request.restore_id = target.restore_id;
    request.map_version = target.map_version;
    request.shards = plan.commits[i];
    UpdateOptions options;
    options.timeout = std::chrono::minutes(5);
    options.cancellation = target.until_lost.get();
    begun.push_back(
        StartOn(target.executor,
                target.client->StageCommit(i, std::move(request), options)));
  }
  absl::Status failure;
  for (std::future<absl::Status>& one : begun) failure.Update(one.get());
  return failure;
}

void Drop(const StageTarget& target) {
  StageDropRequest request;
  request.fence = target.fence;
  request.restore_id = target.restore_id;
  UpdateOptions until_lost;
  until_lost.cancellation = target.until_lost.get();
  RunOn(target.executor, target.client->StageDrop(request, until_lost))
      .IgnoreError();
}

}  // namespace

absl::Status ReplaceValues(
    CoordinatorMaker::Impl& coordinator_impl, const RestorePlan& plan,
    uint64_t map_version, uint64_t restore_id,
    const std::function<absl::Status(const StageTarget& target)>& stage) {
  const std::unique_lock no_updates(coordinator_impl.applying);
  const QueuePause pause(coordinator_impl.dispatcher.shared_queue());
  CAPSTAN_RETURN_IF_ERROR(
      coordinator_impl.dispatcher.queue().AwaitQuiet(kDrainTimeout));
  // After this no update of a cancelled function can take effect.
  CAPSTAN_RETURN_IF_ERROR(
      RunOn(coordinator_impl.executor, coordinator_impl.dispatcher.Publish()));
  JobVariables& job = coordinator_impl.dispatcher.variables();
  StageTarget target;
  target.executor = coordinator_impl.executor;
  target.client = &job.client();
  target.fence = job.fence();
  target.map_version = map_version;
  target.restore_id = restore_id;
  target.until_lost = UntilLost(coordinator_impl);
  const absl::Status staged = stage(target);
  if (staged.ok()) return OrLost(coordinator_impl, Commit(target, plan));
  Drop(target);
  return OrLost(coordinator_impl, staged);
}

}  // namespace capstan
