#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file/posix_file_system.h"
#include "capstan/dataset.h"
#include "dataset/format/tfrecord.h"

namespace capstan {
namespace {

absl::Status Write(const std::string& path,
                   std::span<const std::string> records) {
  constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  const std::filesystem::path where(path);
  const std::string directory = where.parent_path().string();
  auto files = PosixFileSystem::Open(directory.empty() ? "." : directory);
  CAPSTAN_RETURN_IF_ERROR(files.status());
  auto file =
      (*files)->CreateForWrite(where.filename().string(), IfExists::kTruncate);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  std::string pending;
  for (const std::string& record : records) {
    AppendTfRecord(record, pending);
    if (pending.size() < kBufferBytes) continue;
    CAPSTAN_RETURN_IF_ERROR((*file)->Append(AsBytes(pending)));
    pending.clear();
  }
  CAPSTAN_RETURN_IF_ERROR((*file)->Append(AsBytes(pending)));
  return (*file)->Close();
}

}  // namespace

void WriteTfRecords(const std::string& path,
                    std::span<const std::string> records) {
  ThrowIfError(Write(path, records));
}

}  // namespace capstan
