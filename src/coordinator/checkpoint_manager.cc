#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/run_on.h"
#include "checkpoint/export.h"
#include "coordinator/checkpoint_manager_impl.h"

namespace capstan {
namespace {

constexpr std::chrono::seconds kReminder(10);

}  // namespace

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

std::optional<Error> CheckpointManager::TakeError() {
  if (impl_->writing.valid()) {
    // A disk may hang, and whoever waits here should know.
    for (auto waited = kReminder;
         impl_->writing.wait_for(kReminder) == std::future_status::timeout;
         waited += kReminder) {
      impl_->front->dispatcher.logger().Warning(
          "still waits for the checkpoint that is being written to '{}', for "
          "{} s now",
          impl_->directory, waited.count());
    }
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
