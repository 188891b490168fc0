// The implementation of CheckpointManager.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/file/open_folder.h"
#include "base/random.h"
#include "capstan/checkpoint.h"
#include "checkpoint/directory.h"
#include "coordinator/checkpoint/plan_restore.h"
#include "coordinator/checkpoint/write_snapshot.h"
#include "coordinator/closure/queue_pause.h"
#include "coordinator/coordinator_impl.h"
#include "coordinator/until_lost.h"
#include "coordinator/written_directory.h"

namespace capstan {

struct CheckpointManager::Impl {
  Impl(ClusterCoordinator coordinator_in, std::string directory_in,
       CheckpointOptions options_in)
      : coordinator(std::move(coordinator_in)),
        coordinator_impl(CoordinatorMaker::ImplOf(coordinator)),
        directory(std::move(directory_in)),
        options(options_in),
        files(OpenFolder(directory, options.read_only ? IfMissing::kFail
                                                      : IfMissing::kCreate)),
        shared(PathBelow(coordinator_impl->checkpoint_root, directory)),
        random(Random::FromOs()) {}

  JobVariables& variables() { return coordinator_impl->dispatcher.variables(); }

  // Joins the managers that write to this directory; the first one cleans up.
  // Throws.
  void Join();
  void ThrowIfReadOnly() const;
  // Waits until no other manager is writing.
  std::unique_ptr<WrittenDirectories::Turn> AwaitTurn() const;
  // Waits until the last checkpoint is written; if that failed, `error` says
  // why.
  void AwaitWritten();
  bool IsWriting() const;
  // Takes over the outcome of the last write, which has finished.
  void Collect();
  // Calls `waits`, with the time that it may take, for as long as it returns
  // true. After each such call logs that it is waiting for the checkpoint that
  // is being written to `where()`.
  void RemindWhile(const std::function<bool(Duration)>& waits,
                   const std::function<std::string()>& where) const;
  // The part of a save that runs beside the training, on a thread of its own.
  absl::Status Write(const SnapshotToWrite& snapshot,
                     const NewCheckpoint& begun, Manifest manifest);
  // Removes the checkpoints that the new one makes superfluous.
  absl::Status RemoveOld(const Checkpoint& newest);
  absl::StatusOr<Checkpoint> Find(const std::string& name) const;
  absl::StatusOr<RestoreReport> Restore(const RestoreOptions& restore,
                                        const std::set<std::string>* names);
  // Restores this checkpoint.
  absl::StatusOr<RestoreReport> RestoreFrom(const Checkpoint& checkpoint,
                                            const RestoreOptions& restore,
                                            const std::set<std::string>* names);
  // Restores the newest checkpoint that is intact to the last byte.
  absl::StatusOr<RestoreReport> RestoreNewest(
      const RestoreOptions& restore, const std::set<std::string>* names);
  // Tells the servers that they need not keep the snapshot any longer.
  static void Drop(const SnapshotToWrite& snapshot);
  // Logged once: streaming may be slow and needs memory here.
  void SayStreaming();

  const ClusterCoordinator coordinator;
  const std::shared_ptr<CoordinatorMaker::Impl> coordinator_impl;
  const std::string directory;
  const CheckpointOptions options;
  const std::unique_ptr<FileSystem> files;
  const SharedPath shared;
  Random random;
  CheckpointManager::Pause last_pause;
  bool said_streaming = false;

  // Null, and 0, if this manager only reads.
  std::shared_ptr<WrittenDirectory> sharing;
  WrittenDirectory::Member member = 0;

  std::future<absl::Status> writing;
  std::optional<Error> error;  // of the last failed write, not yet reported
};

}  // namespace capstan
