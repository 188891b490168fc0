#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "checkpoint/export.h"
#include "coordinator/checkpoint/checkpoint_manager_impl.h"

namespace capstan {

absl::StatusOr<Checkpoint> CheckpointManager::Impl::Find(
    const std::string& name) const {
  if (!name.empty()) {
    CAPSTAN_RETURN_IF_ERROR(CheckFileName(name));
    return OpenCheckpoint(*files, name);
  }
  std::vector<std::string> damaged;
  absl::StatusOr<Checkpoint> newest = NewestCheckpoint(*files, "", &damaged);
  if (!absl::IsNotFound(newest.status()) || damaged.empty()) return newest;
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
  if (!options.read_only) impl_->Join();
}

CheckpointManager::~CheckpointManager() {
  impl_->AwaitWritten();
  if (impl_->error) {
    impl_->coordinator_impl->dispatcher.logger().Warning("{}",
                                                         impl_->error->what());
  }
  if (impl_->sharing != nullptr) impl_->sharing->Leave(impl_->member);
  const std::lock_guard lock(impl_->coordinator_impl->changing);
  // Another manager may have replaced this one.
  if (impl_->coordinator_impl->on_created_of == impl_.get()) {
    impl_->coordinator_impl->on_created = nullptr;
  }
}

std::vector<std::string> CheckpointManager::checkpoints() const {
  return ValueOrThrow(ListCheckpoints(*impl_->files, ""));
}

std::optional<std::string> CheckpointManager::latest() const {
  absl::StatusOr<Checkpoint> newest = impl_->Find("");
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
  impl_->ThrowIfReadOnly();
  // Otherwise another checkpoint would soon appear.
  impl_->AwaitWritten();
  const auto turn = impl_->AwaitTurn();
  const std::set<std::string> kept =
      impl_->sharing->KeptByOthers(impl_->member);
  for (const std::string& name : checkpoints()) {
    if (kept.contains(name)) continue;
    ThrowIfError(RemoveCheckpoint(*impl_->files, "", name));
  }
}

void CheckpointManager::Keep(const std::string& name) {
  if (impl_->sharing != nullptr) impl_->sharing->Keep(impl_->member, name);
}

const std::string& CheckpointManager::directory() const noexcept {
  return impl_->directory;
}

CheckpointManager::Pause CheckpointManager::last_pause() const noexcept {
  return impl_->last_pause;
}

}  // namespace capstan
