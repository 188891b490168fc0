#include "server/stage/checkpoint_path.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/manifest.h"

namespace capstan {
namespace {

constexpr size_t kMostProbeBytes = 1 << 20;
constexpr char kTemporary[] = ".tmp-";

}  // namespace

absl::StatusOr<std::string> PathOf(const SharedDirectory& directory) {
  if (directory.path.empty() || directory.path.size() > kMostDirectoryNames) {
    return absl::InvalidArgumentError(
        absl::StrCat("a directory of ", directory.path.size(),
                     " names; there must be 1 to ", kMostDirectoryNames));
  }
  std::string path;
  for (size_t i = 0; i < directory.path.size(); ++i) {
    const std::string& name = directory.path[i];
    std::string_view checked = name;
    if (i + 1 == directory.path.size() && checked.starts_with(kTemporary)) {
      checked.remove_prefix(sizeof(kTemporary) - 1);
    }
    CAPSTAN_RETURN_IF_ERROR(CheckFileName(checked));
    path = JoinPath(path, name);
  }
  CAPSTAN_RETURN_IF_ERROR(CheckFileName(directory.probe));
  if (directory.probe_content.size() > kMostProbeBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a probe of ", directory.probe_content.size(),
                     " bytes; it may have ", kMostProbeBytes));
  }
  return path;
}

absl::Status CheckProbe(const FileSystem& files, const std::string& path,
                        const SharedDirectory& directory) {
  const std::string probe = JoinPath(path, directory.probe);
  const absl::StatusOr<std::string> content =
      ReadFile(files, probe, directory.probe_content.size());
  std::string why;
  if (!content.ok()) {
    why = std::string(content.status().message());
  } else if (*content != directory.probe_content) {
    why = absl::StrCat(probe, " has other content");
  } else {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(
      "this server does not see the coordinator's directory: ", why));
}

absl::StatusOr<CheckpointPlace> PlaceOf(std::shared_ptr<FileSystem> root,
                                        const SharedDirectory& directory,
                                        const std::string& file) {
  if (root == nullptr) {
    return absl::NotFoundError(
        "this server has no directory for checkpoints: start it with "
        "--checkpoint-dir or CAPSTAN_CHECKPOINT_DIR to have one");
  }
  absl::StatusOr<std::string> path = PathOf(directory);
  if (!path.ok()) return path.status();
  CAPSTAN_RETURN_IF_ERROR(CheckFileName(file));
  CheckpointPlace place;
  place.files = std::move(root);
  place.directory = *std::move(path);
  place.path = JoinPath(place.directory, file);
  return place;
}

}  // namespace capstan
