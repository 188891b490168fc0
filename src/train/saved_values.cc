#include "train/saved_values.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/open_folder.h"
#include "checkpoint/safetensors.h"

namespace capstan {

void SaveValues(const std::string& path, const SavedValues& saved) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : saved.values) {
    tensors.push_back({name, value.view()});
  }
  const FileInFolder file = OpenFolderOf(path, IfMissing::kCreate);
  ThrowIfError(
      WriteSafetensors(*file.folder, file.name, tensors, saved.metadata));
}

SavedValues LoadValues(const std::string& path) {
  const FileInFolder file = OpenFolderOf(path, IfMissing::kFail);
  Safetensors read = ValueOrThrow(ReadSafetensors(*file.folder, file.name));
  SavedValues saved;
  saved.metadata = std::move(read.metadata);
  for (size_t i = 0; i < read.names.size(); ++i) {
    saved.values.emplace(std::move(read.names[i]), std::move(read.tensors[i]));
  }
  return saved;
}

}  // namespace capstan
