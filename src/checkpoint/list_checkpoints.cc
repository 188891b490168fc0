#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/directory.h"

namespace capstan {

absl::StatusOr<std::vector<std::string>> ListCheckpoints(
    const FileSystem& files, std::string_view directory) {
  absl::StatusOr<std::vector<std::string>> names = files.List(directory);
  CAPSTAN_RETURN_IF_ERROR(names.status());
  std::erase_if(*names, [](const std::string& name) {
    return !CheckpointNumber(name).has_value();
  });
  std::sort(names->begin(), names->end(),
            [](const std::string& a, const std::string& b) {
              return *CheckpointNumber(a) < *CheckpointNumber(b);
            });
  return names;
}

bool MayPassOver(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

absl::StatusOr<Checkpoint> NewestCheckpoint(const FileSystem& files,
                                            std::string_view directory,
                                            std::vector<std::string>* damaged) {
  const absl::StatusOr<std::vector<std::string>> names =
      ListCheckpoints(files, directory);
  CAPSTAN_RETURN_IF_ERROR(names.status());
  for (auto name = names->rbegin(); name != names->rend(); ++name) {
    absl::StatusOr<Checkpoint> checkpoint =
        OpenCheckpoint(files, JoinPath(directory, *name));
    if (checkpoint.ok() || !MayPassOver(checkpoint.status())) {
      return checkpoint;
    }
    if (damaged != nullptr) {
      damaged->emplace_back(checkpoint.status().message());
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "directory \"", absl::string_view(directory.data(), directory.size()),
      "\" holds no ", names->empty() ? "" : "sound ", "checkpoint"));
}

}  // namespace capstan
