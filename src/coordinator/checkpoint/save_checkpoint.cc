// Saving: taking the snapshot, and writing it while training continues.
#include <algorithm>
#include <shared_mutex>

#include "absl/strings/str_cat.h"
#include "base/async/run_on.h"
#include "base/async/yield_cores.h"
#include "base/error.h"
#include "capstan/version.h"
#include "coordinator/checkpoint/checkpoint_manager_impl.h"

namespace capstan {
namespace {

using Steady = std::chrono::steady_clock;

int64_t UnixMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void CheckpointManager::Impl::Drop(const SnapshotToWrite& snapshot) {
  SnapshotRequest request;
  request.fence = snapshot.fence;
  request.save_id = snapshot.save_id;
  UpdateOptions options;
  options.cancellation = snapshot.until_lost.get();
  RunOn(snapshot.executor, snapshot.client->SnapshotDrop(request, options))
      .IgnoreError();
}

void CheckpointManager::Impl::SayStreaming() {
  if (std::exchange(said_streaming, true)) return;
  coordinator_impl->dispatcher.logger().Info(
      "checkpoints in '{}': the coordinator writes what the servers send it, "
      "as {}",
      directory,
      shared.why.empty()
          ? "not all of them see that directory; set --checkpoint-dir to one "
            "that all tasks share to have the servers write"
          : shared.why);
}

absl::Status CheckpointManager::Impl::Write(const SnapshotToWrite& snapshot,
                                            const NewCheckpoint& begun,
                                            Manifest manifest) {
  absl::StatusOr<SnapshotFiles> written =
      WriteSnapshot(snapshot, *files, begun, shared);
  Drop(snapshot);
  if (!written.ok()) {
    AbandonCheckpoint(*files, begun).IgnoreError();
    return WithContext(OrLost(*coordinator_impl, written.status()),
                       absl::StrCat("checkpoint '", begun.name, "' in '",
                                    directory, "' was not written"));
  }
  if (written->streamed) SayStreaming();
  manifest.files = std::move(written->files);
  absl::Status status = CommitCheckpoint(*files, begun, manifest);
  if (!status.ok()) {
    AbandonCheckpoint(*files, begun).IgnoreError();
    return WithContext(
        status, absl::StrCat("checkpoint '", begun.name, "' in '", directory,
                             "' was not written"));
  }
  Checkpoint newest;
  newest.name = begun.name;
  newest.manifest = std::move(manifest);
  return RemoveOld(newest);
}

absl::Status CheckpointManager::Impl::RemoveOld(const Checkpoint& newest) {
  const absl::StatusOr<std::vector<std::string>> names =
      ListCheckpoints(*files, "");
  if (!names.ok()) return names.status();
  std::vector<Checkpoint> all;
  for (const std::string& name : *names) {
    absl::StatusOr<Checkpoint> one = OpenCheckpoint(*files, name);
    if (one.ok()) all.push_back(*std::move(one));
  }
  const std::vector<std::string> old = sharing->SuperfluousOf(all);
  if (old.empty()) return absl::OkStatus();
  // Not before the new checkpoint is known to be good.
  CAPSTAN_RETURN_IF_ERROR(
      VerifyCheckpoint(*files, newest.name, newest.manifest));
  for (const std::string& name : old) {
    CAPSTAN_RETURN_IF_ERROR(RemoveCheckpoint(*files, "", name));
  }
  return absl::OkStatus();
}

void CheckpointManager::Impl::ThrowIfReadOnly() const {
  if (!options.read_only) return;
  throw Error(
      ErrorCode::kFailedPrecondition,
      absl::StrCat("the CheckpointManager of '", directory, "' only reads"));
}

std::string CheckpointManager::Save(
    const std::function<std::map<std::string, std::string>()>& records) {
  Impl& impl = *impl_;
  impl.ThrowIfReadOnly();
  // One at a time. Wait reports what went wrong with the last one.
  impl.AwaitWritten();
  // Before locking `changing`, as it may take long.
  std::unique_ptr<WrittenDirectories::Turn> turn = impl.AwaitTurn();
  CoordinatorMaker::Impl& coordinator_impl = *impl.coordinator_impl;
  const std::lock_guard changing(coordinator_impl.changing);
  JobVariables& job = impl.variables();
  if (!job.any()) {
    throw Error(ErrorCode::kFailedPrecondition,
                "there is nothing to save: the job has no variables");
  }
  const NewCheckpoint begun = ValueOrThrow(BeginCheckpoint(*impl.files, ""));
  SnapshotToWrite snapshot;
  snapshot.executor = coordinator_impl.executor;
  snapshot.client = &job.client();
  snapshot.fence = job.fence();
  snapshot.save_id = impl.random.NextU64() | 1;
  snapshot.until_lost = UntilLost(coordinator_impl);
  snapshot.map = job.map();
  Manifest manifest;
  std::shared_ptr<QueuePause> pause;
  try {
    const Steady::time_point start = Steady::now();
    const std::unique_lock no_updates(coordinator_impl.applying);
    pause = std::make_shared<QueuePause>(
        coordinator_impl.dispatcher.shared_queue());
    ThrowIfError(coordinator_impl.dispatcher.queue().AwaitQuiet(kDrainTimeout));
    ThrowIfError(coordinator_impl.dispatcher.queue().CheckNoPartialKey());
    // So that no update of a cancelled function comes in between.
    ThrowIfError(RunOn(coordinator_impl.executor,
                       coordinator_impl.dispatcher.Publish()));
    const Steady::time_point drained = Steady::now();
    SnapshotRequest request;
    request.fence = snapshot.fence;
    request.save_id = snapshot.save_id;
    UpdateOptions options;
    options.cancellation = snapshot.until_lost.get();
    absl::StatusOr<std::vector<SnapshotReply>> replies = RunOn(
        coordinator_impl.executor, snapshot.client->Snapshot(request, options));
    ThrowIfError(OrLost(coordinator_impl, replies.status()));
    snapshot.servers = *std::move(replies);
    const QueueCounts counts = coordinator_impl.dispatcher.queue().counts();
    manifest.step = counts.watermark;
    manifest.round = counts.round;
    manifest.applied_above = coordinator_impl.dispatcher.queue().OverAbove();
    manifest.records = job.records().parts();
    if (records) {
      for (auto& [key, text] : records()) manifest.records[key] = text;
    }
    impl.last_pause = {.drain = drained - start,
                       .copy = Steady::now() - drained};
    snapshot.variables =
        ValueOrThrow(SavedVariablesOf(snapshot.map, snapshot.servers));
  } catch (...) {
    Impl::Drop(snapshot);
    AbandonCheckpoint(*impl.files, begun).IgnoreError();
    throw;
  }
  manifest.save_id = snapshot.save_id;
  manifest.generation = snapshot.fence.generation;
  manifest.created_unix_ms = UnixMilliseconds();
  manifest.capstan_version = std::string(Version());
  manifest.variables = snapshot.variables;
  const bool copied =
      std::all_of(snapshot.servers.begin(), snapshot.servers.end(),
                  [](const SnapshotReply& reply) { return reply.copied; });
  // Otherwise there is no memory for two versions of everything, and training
  // waits.
  if (copied) pause = nullptr;
  impl.writing =
      std::async(std::launch::async, [&impl, snapshot = std::move(snapshot),
                                      begun, manifest = std::move(manifest),
                                      pause = std::move(pause),
                                      turn = std::move(turn)]() mutable {
        // Training gets the cores first, unless it is waiting.
        if (pause == nullptr) YieldCores();
        absl::Status status = impl.Write(snapshot, begun, std::move(manifest));
        pause = nullptr;
        turn = nullptr;
        return status;
      });
  return begun.name;
}

}  // namespace capstan
