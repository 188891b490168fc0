#include <algorithm>
#include <future>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/open_folder.h"
#include "base/random.h"
#include "base/run_on.h"
#include "base/yield_cores.h"
#include "capstan/checkpoint.h"
#include "capstan/version.h"
#include "checkpoint/directory.h"
#include "checkpoint/export.h"
#include "coordinator/front.h"
#include "coordinator/plan_restore.h"
#include "coordinator/stage_checkpoint.h"
#include "coordinator/write_snapshot.h"

namespace capstan {
namespace {

using Steady = std::chrono::steady_clock;

// How long functions that run may take to end, for a checkpoint to be cut.
constexpr Duration kDrainTimeout = std::chrono::minutes(30);

int64_t UnixMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Holds the queue; shared with whoever goes on with it.
class Pause {
 public:
  explicit Pause(std::shared_ptr<ClosureQueue> queue)
      : queue_(std::move(queue)) {
    queue_->Hold();
  }
  ~Pause() { queue_->Release(); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  const std::shared_ptr<ClosureQueue> queue_;
};

}  // namespace

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

std::shared_ptr<Cancellation> CheckpointManager::Impl::UntilLost() const {
  const auto ask =
      [](Dispatcher& dispatcher) -> Task<std::shared_ptr<Cancellation>> {
    co_return dispatcher.until_lost();
  };
  return RunOn(front->executor, ask(front->dispatcher));
}

absl::Status CheckpointManager::Impl::OrLost(const absl::Status& status) const {
  if (!absl::IsCancelled(status)) return status;
  const auto ask = [](Dispatcher& dispatcher) -> Task<absl::Status> {
    co_return dispatcher.LostServer();
  };
  const absl::Status lost = RunOn(front->executor, ask(front->dispatcher));
  return lost.ok() ? status : lost;
}

void CheckpointManager::Impl::Drop(const SnapshotToWrite& snapshot) {
  SnapshotRequest request;
  request.fence = snapshot.fence;
  request.save_id = snapshot.save_id;
  UpdateOptions options;
  options.cancellation = snapshot.until_lost.get();
  RunOn(snapshot.executor,
        snapshot.client->SnapshotDrop(std::move(request), options))
      .IgnoreError();
}

void CheckpointManager::Impl::SayStreaming() {
  if (std::exchange(said_streaming, true)) return;
  front->dispatcher.logger().Info(
      "checkpoints in '{}': the coordinator writes what the servers send it, "
      "as not all of them see that directory; set --checkpoint-dir to one that "
      "all tasks share to have the servers write",
      directory);
}

absl::Status CheckpointManager::Impl::Write(const SnapshotToWrite& snapshot,
                                            const NewCheckpoint& begun,
                                            Manifest manifest) {
  absl::StatusOr<SnapshotFiles> written =
      WriteSnapshot(snapshot, *files, begun, shared);
  Drop(snapshot);
  if (!written.ok()) {
    AbandonCheckpoint(*files, begun).IgnoreError();
    return WithContext(OrLost(written.status()),
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
  Retention retention;
  retention.max_to_keep = options.max_to_keep;
  retention.keep_every_hours = options.keep_every_hours;
  std::vector<std::string> kept_names;
  {
    const std::lock_guard lock(mutex);
    if (!kept.empty()) kept_names.push_back(kept);
  }
  const std::vector<std::string> old = ToRemove(all, retention, kept_names);
  if (old.empty()) return absl::OkStatus();
  // Not before the new one is known to be good.
  CAPSTAN_RETURN_IF_ERROR(
      VerifyCheckpoint(*files, newest.name, newest.manifest));
  for (const std::string& name : old) {
    CAPSTAN_RETURN_IF_ERROR(RemoveCheckpoint(*files, "", name));
  }
  return absl::OkStatus();
}

absl::StatusOr<Checkpoint> CheckpointManager::Impl::Find(
    const std::string& name) const {
  if (!name.empty()) {
    CAPSTAN_RETURN_IF_ERROR(CheckFileName(name));
    return OpenCheckpoint(*files, name);
  }
  std::vector<std::string> damaged;
  absl::StatusOr<Checkpoint> newest = NewestCheckpoint(*files, "", &damaged);
  if (newest.ok() || damaged.empty()) return newest;
  return absl::DataLossError(absl::StrCat("no checkpoint in '", directory,
                                          "' is whole: ", damaged.front()));
}

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
    const capstan::Pause pause(front->dispatcher.shared_queue());
    CAPSTAN_RETURN_IF_ERROR(
        front->dispatcher.queue().AwaitQuiet(kDrainTimeout));
    CAPSTAN_RETURN_IF_ERROR(Stage(*plan, checkpoint, map.version()));
  }
  return std::move(plan->report);
}

CheckpointManager::CheckpointManager(ClusterCoordinator coordinator,
                                     std::string directory,
                                     CheckpointOptions options) {
  if (options.max_to_keep < 0 || !(options.keep_every_hours >= 0)) {
    throw Error(ErrorCode::kInvalidArgument,
                "CheckpointManager: max_to_keep and keep_every_hours must not "
                "be negative");
  }
  impl_ = std::make_unique<Impl>(std::move(coordinator), std::move(directory),
                                 options);
  if (!options.read_only) ThrowIfError(PrepareDirectory(*impl_->files, ""));
}

CheckpointManager::~CheckpointManager() {
  if (impl_->writing.valid()) impl_->writing.wait();
  const std::lock_guard lock(impl_->front->changing);
  // Another one may have taken its place.
  if (impl_->front->on_created_of == impl_.get()) {
    impl_->front->on_created = nullptr;
  }
}

std::string CheckpointManager::Save(
    const std::function<std::map<std::string, std::string>()>& records) {
  Impl& impl = *impl_;
  if (impl.options.read_only) {
    throw Error(ErrorCode::kFailedPrecondition,
                absl::StrCat("the CheckpointManager of '", impl.directory,
                             "' only reads"));
  }
  // One at a time; what was wrong with the last is for Wait to say.
  if (std::optional<Error> error = TakeError()) impl.error = std::move(error);
  CoordinatorMaker::Impl& front = *impl.front;
  const std::lock_guard changing(front.changing);
  JobVariables& job = impl.variables();
  if (!job.any()) {
    throw Error(ErrorCode::kFailedPrecondition,
                "there is nothing to save: the job has no variables");
  }
  const NewCheckpoint begun = ValueOrThrow(BeginCheckpoint(*impl.files, ""));
  SnapshotToWrite snapshot;
  snapshot.executor = front.executor;
  snapshot.client = &job.client();
  snapshot.fence = job.fence();
  snapshot.save_id = impl.random.NextU64() | 1;
  snapshot.until_lost = impl.UntilLost();
  snapshot.map = job.map();
  Manifest manifest;
  std::shared_ptr<capstan::Pause> pause;
  try {
    const Steady::time_point start = Steady::now();
    const std::unique_lock no_updates(front.applying);
    pause = std::make_shared<capstan::Pause>(front.dispatcher.shared_queue());
    ThrowIfError(front.dispatcher.queue().AwaitQuiet(kDrainTimeout));
    const Steady::time_point drained = Steady::now();
    SnapshotRequest request;
    request.fence = snapshot.fence;
    request.save_id = snapshot.save_id;
    UpdateOptions options;
    options.cancellation = snapshot.until_lost.get();
    absl::StatusOr<std::vector<SnapshotReply>> replies = RunOn(
        front.executor, snapshot.client->Snapshot(std::move(request), options));
    ThrowIfError(impl.OrLost(replies.status()));
    snapshot.servers = *std::move(replies);
    const QueueCounts counts = front.dispatcher.queue().counts();
    manifest.step = counts.watermark;
    manifest.round = counts.round;
    manifest.applied_above = front.dispatcher.queue().OverAbove();
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
  // Else there is no memory for two of each, and training waits.
  if (copied) pause = nullptr;
  impl.writing =
      std::async(std::launch::async, [&impl, snapshot = std::move(snapshot),
                                      begun, manifest = std::move(manifest),
                                      pause = std::move(pause)]() mutable {
        // Training has the cores first, unless it waits.
        if (pause == nullptr) YieldCores();
        absl::Status status = impl.Write(snapshot, begun, std::move(manifest));
        pause = nullptr;
        return status;
      });
  return begun.name;
}

std::optional<Error> CheckpointManager::TakeError() {
  if (impl_->writing.valid()) {
    const absl::Status status = impl_->writing.get();
    if (!status.ok()) {
      // Which says more than that of one before.
      impl_->error.reset();
      return ToError(status);
    }
  }
  return std::exchange(impl_->error, std::nullopt);
}

void CheckpointManager::Wait() {
  if (const std::optional<Error> error = TakeError()) throw *error;
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

std::vector<std::string> CheckpointManager::checkpoints() const {
  return ValueOrThrow(ListCheckpoints(*impl_->files, ""));
}

std::optional<std::string> CheckpointManager::latest() const {
  const absl::StatusOr<Checkpoint> newest = impl_->Find("");
  if (absl::IsNotFound(newest.status())) return std::nullopt;
  return ValueOrThrow(std::move(newest)).name;
}

std::map<std::string, std::string> CheckpointManager::Records(
    const std::string& name) const {
  return ValueOrThrow(impl_->Find(name)).manifest.records;
}

void CheckpointManager::Export(const std::string& file, const std::string& name,
                               bool slots) const {
  const Checkpoint checkpoint = ValueOrThrow(impl_->Find(name));
  const FileInFolder to = OpenFolderOf(file, IfMissing::kCreate);
  ExportOptions options;
  options.slots = slots;
  if (absl::EndsWith(file, ".safetensors")) {
    ThrowIfError(ExportSafetensors(*impl_->files, checkpoint.name,
                                   checkpoint.manifest, *to.folder, to.name,
                                   options));
  } else if (absl::EndsWith(file, ".npz")) {
    ThrowIfError(ExportNpz(*impl_->files, checkpoint.name, checkpoint.manifest,
                           *to.folder, to.name, options));
  } else {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("'", file,
                             "': a checkpoint is exported as a file whose name "
                             "ends in .safetensors or .npz"));
  }
}

void CheckpointManager::RemoveAll() {
  // Else there would be one more soon.
  if (std::optional<Error> error = TakeError()) {
    impl_->error = std::move(error);
  }
  for (const std::string& name : checkpoints()) {
    ThrowIfError(RemoveCheckpoint(*impl_->files, "", name));
  }
}

void CheckpointManager::Keep(const std::string& name) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kept = name;
}

const std::string& CheckpointManager::directory() const noexcept {
  return impl_->directory;
}

CheckpointManager::Pause CheckpointManager::last_pause() const noexcept {
  return impl_->last_pause;
}

}  // namespace capstan
