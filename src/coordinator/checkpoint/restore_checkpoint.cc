// Restoring: choosing a checkpoint and sending it to the servers.
#include "absl/strings/str_cat.h"
#include "base/async/run_on.h"
#include "base/error.h"
#include "coordinator/checkpoint/checkpoint_manager_impl.h"
#include "coordinator/checkpoint/replace_values.h"
#include "coordinator/checkpoint/stage_checkpoint.h"

namespace capstan {
namespace {

// The keys that were complete when the checkpoint was saved; nullopt if neither
// the checkpoint nor the queue has keys.
absl::StatusOr<std::optional<CompleteKeys>> KeysOf(const Manifest& manifest,
                                                   const ClosureQueue& queue) {
  const auto found = manifest.records.find(kStepKeysPart);
  if (found == manifest.records.end()) {
    if (!queue.KeysUsed()) return std::nullopt;
    return CompleteKeys();
  }
  const absl::StatusOr<CompleteKeys> keys = DecodeCompleteKeys(found->second);
  if (!keys.ok()) return keys.status();
  return *keys;
}

}  // namespace

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
      if (!MayPassOver(checkpoint.status())) return checkpoint.status();
      damaged.emplace_back(checkpoint.status().message());
      continue;
    }
    absl::StatusOr<RestoreReport> report =
        RestoreFrom(*checkpoint, restore, names);
    if (!absl::IsDataLoss(report.status())) {
      if (report.ok()) report->damaged = std::move(damaged);
      return report;
    }
    damaged.emplace_back(report.status().message());
  }
  // Find's error says that there is no checkpoint, or that none is intact.
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
  if (plan->report.restored.empty()) return std::move(plan->report);
  ClosureQueue& queue = coordinator_impl->dispatcher.queue();
  const bool whole =
      restore.only.empty() && !restore.when_created && names == nullptr;
  absl::StatusOr<std::optional<CompleteKeys>> keys =
      KeysOf(checkpoint.manifest, queue);
  if (!keys.ok()) return keys.status();
  const bool has_keys = whole && keys->has_value();
  if (has_keys) CAPSTAN_RETURN_IF_ERROR(queue.CheckNoKeyScheduled());
  const auto stage = [&](const StageTarget& target) {
    absl::Status staged = StageCheckpoint(
        target, *plan, *files, checkpoint.name, checkpoint.manifest, shared);
    if (!staged.ok() || !has_keys) return staged;
    // A coordinator that takes over now must not assume that the current keys
    // match the values.
    staged = queue.ResetKeys({.restoring = true});
    if (!staged.ok()) return staged;
    return RunOn(coordinator_impl->executor,
                 coordinator_impl->dispatcher.Publish());
  };
  CAPSTAN_RETURN_IF_ERROR(ReplaceValues(*coordinator_impl, *plan, map.version(),
                                        random.NextU64() | 1, stage));
  if (has_keys) {
    CAPSTAN_RETURN_IF_ERROR(queue.ResetKeys(**keys));
    // If the servers cannot be told now, they are told soon.
    RunOn(coordinator_impl->executor, coordinator_impl->dispatcher.Publish())
        .IgnoreError();
  }
  return std::move(plan->report);
}

RestoreReport CheckpointManager::Restore(const RestoreOptions& options) {
  impl_->AwaitWritten();
  // Otherwise another manager that is writing might remove what is restored.
  const auto turn = impl_->sharing == nullptr ? nullptr : impl_->AwaitTurn();
  CoordinatorMaker::Impl& coordinator_impl = *impl_->coordinator_impl;
  const std::lock_guard changing(coordinator_impl.changing);
  if (options.when_created) {
    // Also restores the variables that exist already.
    RestoreOptions later = options;
    later.name = ValueOrThrow(impl_->Find(options.name)).name;
    later.allow_missing = true;
    coordinator_impl.on_created =
        [impl = impl_.get(), later](const std::vector<std::string>& names) {
          const std::set<std::string> only(names.begin(), names.end());
          return impl->Restore(later, &only).status();
        };
    coordinator_impl.on_created_of = impl_.get();
    return ValueOrThrow(impl_->Restore(later, nullptr));
  }
  return ValueOrThrow(impl_->Restore(options, nullptr));
}

}  // namespace capstan
