// Waiting for a checkpoint that is being written, by this manager or by another
// one of the same directory.
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "coordinator/checkpoint/checkpoint_manager_impl.h"

namespace capstan {
namespace {

constexpr std::chrono::seconds kReminder(10);

}  // namespace

void CheckpointManager::Impl::Join() {
  std::error_code failure;
  const std::filesystem::path path =
      std::filesystem::canonical(directory.empty() ? "." : directory, failure);
  const auto prepare = [this]() -> absl::Status {
    // The process that created it may have been killed before it was durable.
    SyncNameOf(directory);
    return PrepareDirectory(*files, "");
  };
  sharing = ValueOrThrow(coordinator_impl->written_directories.Open(
      failure ? directory : path.string(), prepare));
  Retention retention;
  retention.max_to_keep = options.max_to_keep;
  retention.keep_every_hours = options.keep_every_hours;
  member = sharing->Join(retention);
}

void CheckpointManager::Impl::RemindWhile(
    const std::function<bool(Duration)>& waits,
    const std::function<std::string()>& where) const {
  // A disk may hang, and those who wait should know.
  for (auto waited = kReminder; waits(kReminder); waited += kReminder) {
    coordinator_impl->dispatcher.logger().Warning(
        "still waits for the checkpoint that is being written to '{}', for {} "
        "s now",
        where(), waited.count());
  }
}

std::unique_ptr<WrittenDirectories::Turn> CheckpointManager::Impl::AwaitTurn()
    const {
  WrittenDirectories& all = coordinator_impl->written_directories;
  std::unique_ptr<WrittenDirectories::Turn> turn;
  RemindWhile(
      [&](Duration time) {
        turn = all.AwaitTurn(directory, time);
        return turn == nullptr;
      },
      [&] { return all.writes_to(); });
  return turn;
}

bool CheckpointManager::Impl::IsWriting() const {
  return writing.valid() &&
         writing.wait_for(Duration::zero()) == std::future_status::timeout;
}

void CheckpointManager::Impl::Collect() {
  if (!writing.valid()) return;
  const absl::Status status = writing.get();
  // It says more than the error of an earlier write.
  if (!status.ok()) error = ToError(status);
}

void CheckpointManager::Impl::AwaitWritten() {
  if (!writing.valid()) return;
  RemindWhile(
      [&](Duration time) {
        return writing.wait_for(time) == std::future_status::timeout;
      },
      [&] { return directory; });
  Collect();
}

bool CheckpointManager::writing() const { return impl_->IsWriting(); }

std::optional<Error> CheckpointManager::TakeError() {
  if (impl_->IsWriting()) return std::nullopt;
  impl_->Collect();
  return std::exchange(impl_->error, std::nullopt);
}

void CheckpointManager::Wait() {
  impl_->AwaitWritten();
  if (const std::optional<Error> error = TakeError()) throw *error;
}

}  // namespace capstan
