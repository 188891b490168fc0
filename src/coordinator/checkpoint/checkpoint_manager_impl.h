// What a CheckpointManager is made of.
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

  // One of those that write here; the first cleans up. Throws.
  void Join();
  void ThrowIfReadOnly() const;
  // Until no other manager writes.
  std::unique_ptr<WrittenDirectories::Turn> AwaitTurn() const;
  // Until the last one is written; what went wrong with it is in `error` then.
  void AwaitWritten();
  bool IsWriting() const;
  // Takes over what has become of the last one, which is written.
  void Collect();
  // Says now and then that it waits for what is written to `where()`, while
  // `waits`, which is given the time that it may take, returns that it has to
  // go on.
  void RemindWhile(const std::function<bool(Duration)>& waits,
                   const std::function<std::string()>& where) const;
  // What is written behind the training; on a thread of its own.
  absl::Status Write(const SnapshotToWrite& snapshot,
                     const NewCheckpoint& begun, Manifest manifest);
  // What the new one makes superfluous.
  absl::Status RemoveOld(const Checkpoint& newest);
  absl::StatusOr<Checkpoint> Find(const std::string& name) const;
  absl::StatusOr<RestoreReport> Restore(const RestoreOptions& restore,
                                        const std::set<std::string>* names);
  // The same of this one.
  absl::StatusOr<RestoreReport> RestoreFrom(const Checkpoint& checkpoint,
                                            const RestoreOptions& restore,
                                            const std::set<std::string>* names);
  // The newest that is whole to the last byte.
  absl::StatusOr<RestoreReport> RestoreNewest(
      const RestoreOptions& restore, const std::set<std::string>* names);
  // The servers need not keep it any longer.
  static void Drop(const SnapshotToWrite& snapshot);
  // Said once, as it may be slow and need memory here.
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

  // Null, and 0, if it only reads.
  std::shared_ptr<WrittenDirectory> sharing;
  WrittenDirectory::Member member = 0;

  std::future<absl::Status> writing;
  std::optional<Error> error;  // of the last that failed, to be told
};

}  // namespace capstan
