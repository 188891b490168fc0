#include "checkpoint/remove_tree.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"

namespace capstan {

absl::Status RemoveTree(FileSystem& files, std::string_view path) {
  const absl::StatusOr<std::vector<std::string>> names = files.List(path);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  CAPSTAN_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    const std::string child = JoinPath(path, name);
    const absl::StatusOr<FileInfo> info = files.Stat(child);
    CAPSTAN_RETURN_IF_ERROR(info.status());
    CAPSTAN_RETURN_IF_ERROR(info->kind == FileKind::kDirectory
                                ? RemoveTree(files, child)
                                : files.Remove(child));
  }
  return files.RemoveDir(path);
}

}  // namespace capstan
