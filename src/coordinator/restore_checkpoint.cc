// Restoring: which checkpoint, and bringing it to the servers.
#include <shared_mutex>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/run_on.h"
#include "coordinator/checkpoint_manager_impl.h"
#include "coordinator/stage_checkpoint.h"

namespace capstan {

absl::Status CheckpointManager::Impl::Stage(const RestorePlan& plan,
                                            const Checkpoint& checkpoint,
                                            uint64_t map_version) {
  JobVariables& job = variables();
  CheckpointToStage target;
  target.executor = front->executor;
  target.client = &job.client();
  target.fence = job.fence();
  target.map_version = map_version;
  target.restore_id = random.NextU64() | 1;
  target.until_lost = UntilLost();
  absl::Status status = StageCheckpoint(target, plan, *files, checkpoint.name,
                                        checkpoint.manifest, shared);
  if (status.ok()) return OrLost(CommitStaged(target, plan));
  StageDropRequest request;
  request.fence = target.fence;
  request.restore_id = target.restore_id;
  UpdateOptions until_lost;
  until_lost.cancellation = target.until_lost.get();
  RunOn(target.executor,
        target.client->StageDrop(std::move(request), until_lost))
      .IgnoreError();
  return OrLost(status);
}

absl::StatusOr<RestoreReport> CheckpointManager::Impl::Restore(
    const RestoreOptions& restore, const std::set<std::string>* names) {
  if (restore.name.empty()) return RestoreNewest(restore, names);
  const absl::StatusOr<Checkpoint> checkpoint = Find(restore.name);
  if (!checkpoint.ok()) return checkpoint.status();
  return RestoreFrom(*checkpoint, restore, names);
}

absl::StatusOr<RestoreReport> CheckpointManager::Impl::RestoreNewest(
    const RestoreOptions& restore, const std::set<std::string>* names) {
  absl::StatusOr<std::vector<std::string>> all = ListCheckpoints(*files, "");
  if (!all.ok()) return all.status();
  std::vector<std::string> damaged;
  for (; !all->empty(); all->pop_back()) {
    const absl::StatusOr<Checkpoint> checkpoint =
        OpenCheckpoint(*files, all->back());
    if (!checkpoint.ok()) {
      damaged.emplace_back(checkpoint.status().message());
      continue;
    }
    absl::StatusOr<RestoreReport> report =
        RestoreFrom(*checkpoint, restore, names);
    if (report.ok()) report->damaged = std::move(damaged);
    if (!absl::IsDataLoss(report.status())) return report;
    damaged.emplace_back(report.status().message());
  }
  // As it says that there is none, or that none is whole.
  if (damaged.empty()) return Find("").status();
  return absl::DataLossError(absl::StrCat("no checkpoint in '", directory,
                                          "' is whole: ", damaged.front()));
}

absl::StatusOr<RestoreReport> CheckpointManager::Impl::RestoreFrom(
    const Checkpoint& checkpoint, const RestoreOptions& restore,
    const std::set<std::string>* names) {
  const ShardMap map = variables().map();
  absl::StatusOr<RestorePlan> plan =
      PlanRestore(checkpoint.manifest, map, restore, names);
  if (!plan.ok()) {
    return WithContext(plan.status(),
                       absl::StrCat(directory, "/", checkpoint.name));
  }
  plan->report.name = checkpoint.name;
  if (!plan->report.restored.empty()) {
    const std::unique_lock no_updates(front->applying);
    const QueuePause pause(front->dispatcher.shared_queue());
    CAPSTAN_RETURN_IF_ERROR(
        front->dispatcher.queue().AwaitQuiet(kDrainTimeout));
    CAPSTAN_RETURN_IF_ERROR(Stage(*plan, checkpoint, map.version()));
  }
  return std::move(plan->report);
}

RestoreReport CheckpointManager::Restore(const RestoreOptions& options) {
  if (std::optional<Error> error = TakeError()) {
    impl_->error = std::move(error);
  }
  CoordinatorMaker::Impl& front = *impl_->front;
  const std::lock_guard changing(front.changing);
  if (options.when_created) {
    // Those that are there already too.
    RestoreOptions later = options;
    later.name = ValueOrThrow(impl_->Find(options.name)).name;
    later.allow_missing = true;
    front.on_created = [impl = impl_.get(),
                        later](const std::vector<std::string>& names) {
      const std::set<std::string> only(names.begin(), names.end());
      return impl->Restore(later, &only).status();
    };
    front.on_created_of = impl_.get();
    return ValueOrThrow(impl_->Restore(later, nullptr));
  }
  return ValueOrThrow(impl_->Restore(options, nullptr));
}

}  // namespace capstan
