#include "train/evaluator/checkpoint_watch.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file/open_folder.h"
#include "checkpoint/directory.h"
#include "checkpoint/manifest.h"
#include "checkpoint/tensor_file/hex_text.h"

namespace capstan {

CheckpointWatch::CheckpointWatch(const std::string& directory)
    : files_(OpenFolder(directory, IfMissing::kFail)) {}

std::string CheckpointWatch::SaveId(const std::string& name) const {
  const absl::StatusOr<std::string> text =
      ReadFile(*files_, JoinPath(name, kManifestName), kMaxManifestBytes);
  if (!text.ok()) return "";
  const absl::StatusOr<Manifest> manifest = DecodeManifest(*text);
  return manifest.ok() ? Hex64(manifest->save_id) : "";
}

bool CheckpointWatch::IsReplaced(const FoundCheckpoint& found) const {
  const std::string now = SaveId(found.name);
  return !now.empty() && now != found.save_id;
}

std::vector<FoundCheckpoint> CheckpointWatch::Look() {
  std::vector<FoundCheckpoint> now;
  for (std::string& name : ValueOrThrow(ListCheckpoints(*files_, ""))) {
    now.push_back({.name = std::move(name), .save_id = {}});
  }
  // Numbers ascend: while a checkpoint exists, none with a lower number is
  // created. So all checkpoints below the newest unchanged one are unchanged,
  // and need not be read again.
  bool as_before = false;
  for (auto it = now.rbegin(); it != now.rend(); ++it) {
    const auto before = std::find_if(
        last_.begin(), last_.end(),
        [&](const FoundCheckpoint& found) { return found.name == it->name; });
    if (as_before && before != last_.end()) {
      it->save_id = before->save_id;
      continue;
    }
    it->save_id = SaveId(it->name);
    as_before = before != last_.end() && !it->save_id.empty() &&
                before->save_id == it->save_id;
  }
  last_ = now;
  return now;
}

}  // namespace capstan
