#include "base/file/make_directories.h"

#include "base/status.h"

namespace capstan {
namespace {

absl::Status Make(FileSystem& files, std::string_view path) {
  if (path.empty()) return absl::OkStatus();
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (absl::IsNotFound(info.status())) {
    CAPSTAN_RETURN_IF_ERROR(Make(files, DirectoryOf(path)));
    const absl::Status made = files.CreateDir(path);
    // Another process may have created it first.
    return absl::IsAlreadyExists(made) ? absl::OkStatus() : made;
  }
  CAPSTAN_RETURN_IF_ERROR(info.status());
  if (info->kind == FileKind::kDirectory) return absl::OkStatus();
  return FileError(absl::StatusCode::kFailedPrecondition, "use", path,
                   "a file, where a directory is wanted");
}

}  // namespace

absl::Status MakeDirectories(FileSystem& files, std::string_view path) {
  CAPSTAN_RETURN_IF_ERROR(Make(files, path));
  // Existing parents too: whoever created them may have been killed before they
  // were durable.
  while (!path.empty()) {
    path = DirectoryOf(path);
    const absl::Status synced = files.SyncDir(path);
    // If we may not open a directory, we did not create it.
    if (!absl::IsPermissionDenied(synced)) CAPSTAN_RETURN_IF_ERROR(synced);
  }
  return absl::OkStatus();
}

}  // namespace capstan
