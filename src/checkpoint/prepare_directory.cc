#include "absl/strings/str_cat.h"
#include "base/file/make_directories.h"
#include "base/status.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/directory.h"
#include "checkpoint/remove_tree.h"

namespace capstan {
namespace {

bool IsLeftover(std::string_view name) {
  for (const std::string_view prefix : {kBeingWritten, kBeingRemoved}) {
    if (name.starts_with(prefix)) {
      return CheckpointNumber(name.substr(prefix.size())).has_value();
    }
  }
  return false;
}

}  // namespace

absl::Status PrepareDirectory(FileSystem& files, std::string_view directory) {
  CAPSTAN_RETURN_IF_ERROR(MakeDirectories(files, directory));
  // Otherwise the rename to ".old-" might be undone although files are gone.
  CAPSTAN_RETURN_IF_ERROR(files.SyncDir(directory));
  const absl::StatusOr<std::vector<std::string>> names = files.List(directory);
  CAPSTAN_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (!IsLeftover(name)) continue;
    CAPSTAN_RETURN_IF_ERROR(RemoveTree(files, JoinPath(directory, name)));
  }
  return absl::OkStatus();
}

absl::Status RemoveCheckpoint(FileSystem& files, std::string_view directory,
                              std::string_view name) {
  const absl::string_view shown(name.data(), name.size());
  if (!CheckpointNumber(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", shown, "\" is not the name of a checkpoint, as ckpt-12 is"));
  }
  const std::string old =
      JoinPath(directory, absl::StrCat(absl::string_view(kBeingRemoved.data(),
                                                         kBeingRemoved.size()),
                                       shown));
  const absl::StatusOr<bool> left = files.Exists(old);
  CAPSTAN_RETURN_IF_ERROR(left.status());
  if (*left) {
    CAPSTAN_RETURN_IF_ERROR(files.SyncDir(directory));
    CAPSTAN_RETURN_IF_ERROR(RemoveTree(files, old));
  }
  CAPSTAN_RETURN_IF_ERROR(files.Rename(JoinPath(directory, name), old));
  // The checkpoint's name must be gone before any of its files is.
  CAPSTAN_RETURN_IF_ERROR(files.SyncDir(directory));
  return RemoveTree(files, old);
}

}  // namespace capstan
