#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/open_folder.h"
#include "capstan/callback.h"
#include "capstan/error.h"
#include "train/json_text.h"

namespace capstan {

JSONLogger::JSONLogger(std::string path, bool append)
    : path_(std::move(path)), append_(append) {}
JSONLogger::~JSONLogger() = default;

void JSONLogger::OnTrainBegin(Logs& /*logs*/) {
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  if (append_ && ValueOrThrow(file.folder->Exists(file.name))) return;
  const std::unique_ptr<WritableFile> created =
      ValueOrThrow(file.folder->CreateForWrite(file.name, IfExists::kTruncate));
  ThrowIfError(created->Close());
}

void JSONLogger::OnEpochEnd(int epoch, Logs& logs) {
  std::string line = absl::StrCat("{\"epoch\": ", epoch);
  for (const auto& [name, value] : logs) {
    absl::StrAppend(&line, ", ", JsonString(name), ": ", JsonNumber(value));
  }
  line += "}\n";
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  const std::unique_ptr<WritableFile> log =
      ValueOrThrow(file.folder->OpenForAppend(file.name));
  ThrowIfError(log->Append(std::as_bytes(std::span<const char>(line))));
  ThrowIfError(log->Close());
}

}  // namespace capstan
