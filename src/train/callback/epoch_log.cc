#include "train/callback/epoch_log.h"

#include "base/error.h"
#include "base/file/open_folder.h"

namespace capstan {
namespace {

// More than any log with one line per epoch.
constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

}  // namespace

std::string ReadLog(const std::string& path) {
  const FileInFolder file = OpenFolderOf(path, IfMissing::kCreate);
  if (!ValueOrThrow(file.folder->Exists(file.name))) return {};
  return ValueOrThrow(ReadFile(*file.folder, file.name, kMaxBytes));
}

}  // namespace capstan
