// What a CheckpointManager is made of.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/cancellation.h"
#include "base/open_folder.h"
#include "base/random.h"
#include "capstan/checkpoint.h"
#include "checkpoint/directory.h"
#include "coordinator/front.h"
#include "coordinator/plan_restore.h"
#include "coordinator/write_snapshot.h"

namespace capstan {

// How long functions that run may take to end, for a checkpoint to be cut.
inline constexpr Duration kDrainTimeout = std::chrono::minutes(30);

// Holds the queue; shared with whoever goes on with it.
class QueuePause {
 public:
  explicit QueuePause(std::shared_ptr<ClosureQueue> queue)
      : queue_(std::move(queue)) {
    queue_->Hold();
  }
  ~QueuePause() { queue_->Release(); }
  QueuePause(const QueuePause&) = delete;
  QueuePause& operator=(const QueuePause&) = delete;

 private:
  const std::shared_ptr<ClosureQueue> queue_;
};

struct CheckpointManager::Impl {
  Impl(ClusterCoordinator coordinator_in, std::string directory_in,
       CheckpointOptions options_in)
      : coordinator(std::move(coordinator_in)),
        front(CoordinatorMaker::ImplOf(coordinator)),
        directory(std::move(directory_in)),
        options(options_in),
        files(OpenFolder(directory, options.read_only ? IfMissing::kFail
                                                      : IfMissing::kCreate)),
        shared(PathBelow(front->checkpoint_root, directory)),
        random(Random::FromOs()) {}

  JobVariables& variables() { return front->dispatcher.variables(); }

  // What is written behind the training; on a thread of its own.
  absl::Status Write(const SnapshotToWrite& snapshot,
                     const NewCheckpoint& begun, Manifest manifest);
  // What the new one makes superfluous.
  absl::Status RemoveOld(const Checkpoint& newest);
  absl::StatusOr<Checkpoint> Find(const std::string& name) const;
  absl::StatusOr<RestoreReport> Restore(const RestoreOptions& options,
                                        const std::set<std::string>* names);
  // The same of this one.
  absl::StatusOr<RestoreReport> RestoreFrom(const Checkpoint& checkpoint,
                                            const RestoreOptions& options,
                                            const std::set<std::string>* names);
  // The newest that is whole to the last byte.
  absl::StatusOr<RestoreReport> RestoreNewest(
      const RestoreOptions& options, const std::set<std::string>* names);
  // What ends when a server is lost, and the status of what has ended so.
  std::shared_ptr<Cancellation> UntilLost() const;
  absl::Status OrLost(const absl::Status& status) const;
  // The servers need not keep it any longer.
  static void Drop(const SnapshotToWrite& snapshot);
  // Said once, as it may be slow and need memory here.
  void SayStreaming();
  // The servers' part of it, with nothing running.
  absl::Status Stage(const RestorePlan& plan, const Checkpoint& checkpoint,
                     uint64_t map_version);

  const ClusterCoordinator coordinator;
  const std::shared_ptr<CoordinatorMaker::Impl> front;
  const std::string directory;
  const CheckpointOptions options;
  const std::unique_ptr<FileSystem> files;
  const SharedPath shared;
  Random random;
  CheckpointManager::Pause last_pause;
  bool said_streaming = false;

  std::future<absl::Status> writing;
  std::optional<Error> error;  // of one before

  mutable std::mutex mutex;
  std::string kept;  // guarded by mutex
};

}  // namespace capstan
