#include "launch/open_checkpoint_root.h"

#include <filesystem>
#include <utility>

#include "base/file/posix_file_system.h"
#include "base/status.h"

namespace capstan {
namespace {

absl::StatusOr<std::unique_ptr<PosixFileSystem>> OpenOrMake(
    const std::string& path) {
  auto opened = PosixFileSystem::Open(path);
  if (!absl::IsNotFound(opened.status())) return opened;
  std::filesystem::path folder(path);
  if (!folder.has_filename()) folder = folder.parent_path();  // "a/b/"
  const std::string above = folder.parent_path().string();
  auto parent = PosixFileSystem::Open(above.empty() ? "." : above);
  if (!parent.ok()) return parent.status();
  const absl::Status made = (*parent)->CreateDir(folder.filename().string());
  // Another server on this machine may have created it first.
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  return PosixFileSystem::Open(path);
}

}  // namespace

absl::StatusOr<std::shared_ptr<FileSystem>> OpenCheckpointRoot(
    const std::string& path) {
  auto opened = OpenOrMake(path);
  if (!opened.ok()) {
    return WithContext(opened.status(),
                       "the directory for checkpoints (--checkpoint-dir, "
                       "CAPSTAN_CHECKPOINT_DIR)");
  }
  std::shared_ptr<FileSystem> files = *std::move(opened);
  return files;
}

}  // namespace capstan
