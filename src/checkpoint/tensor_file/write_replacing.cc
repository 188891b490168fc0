#include "checkpoint/tensor_file/write_replacing.h"

#include <string>

#include "base/status.h"

namespace capstan {
namespace {

absl::Status WriteNew(
    FileSystem& files, const std::string& path,
    const std::function<absl::Status(WritableFile& file)>& write) {
  const auto file = files.CreateForWrite(path, IfExists::kTruncate);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  CAPSTAN_RETURN_IF_ERROR(write(**file));
  CAPSTAN_RETURN_IF_ERROR((*file)->Sync());
  return (*file)->Close();
}

}  // namespace

absl::Status WriteReplacing(
    FileSystem& files, std::string_view path,
    const std::function<absl::Status(WritableFile& file)>& write) {
  const std::string temporary = std::string(path) + ".tmp";
  absl::Status status = WriteNew(files, temporary, write);
  if (status.ok()) status = files.Rename(temporary, path);
  if (!status.ok()) {
    // The first error is the one to report.
    (void)files.Remove(temporary);
    return status;
  }
  return files.SyncDir(DirectoryOf(path));
}

}  // namespace capstan
