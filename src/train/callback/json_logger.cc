#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/file/open_folder.h"
#include "capstan/callback.h"
#include "capstan/error.h"
#include "train/callback/epoch_log.h"
#include "train/callback/warn.h"
#include "train/json_text.h"

namespace capstan {
namespace {

std::optional<int> JsonEpochOf(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find("epoch");
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int>();
}

// A line that was cut off is returned too; it has no epoch.
std::vector<std::string> ReadLines(const std::string& path) {
  return absl::StrSplit(ReadLog(path), '\n', absl::SkipEmpty());
}

}  // namespace

struct JSONLogger::Log : EpochLog<std::string> {
  Log() : EpochLog(JsonEpochOf) {}
};

JSONLogger::JSONLogger(std::string path, bool append)
    : path_(std::move(path)), append_(append), log_(std::make_shared<Log>()) {}
JSONLogger::~JSONLogger() = default;

void JSONLogger::OnTrainBegin(Logs& /*logs*/) {
  // Fail now rather than after the first epoch if the file cannot be created.
  OpenFolderOf(path_, IfMissing::kCreate);
  log_->Begin(append_ ? ReadLines(path_) : std::vector<std::string>());
  in_file_ = false;
}

void JSONLogger::OnEpochEnd(int epoch, Logs& logs) {
  std::string line = absl::StrCat("{\"epoch\": ", epoch);
  for (const auto& [name, value] : logs) {
    absl::StrAppend(&line, ", ", JsonString(name), ": ", JsonNumber(value));
  }
  line += "}";
  try {
    const bool anew =
        log_->Add(epoch, std::move(line), [&] { return ReadLines(path_); });
    // A failed write may leave a partial line, so the next one rewrites the
    // file.
    const bool in_file = std::exchange(in_file_, false);
    Write(in_file && !anew);
    in_file_ = true;
  } catch (const Error& error) {
    Warn(*this, absl::StrCat(error.what(), "; the training goes on"));
  }
}

void JSONLogger::Write(bool last_only) const {
  const std::vector<std::string>& lines = log_->lines();
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  if (!last_only || !ValueOrThrow(file.folder->Exists(file.name))) {
    const std::string text = absl::StrJoin(lines, "\n") + "\n";
    ThrowIfError(ReplaceFile(*file.folder, file.name,
                             std::as_bytes(std::span<const char>(text))));
    return;
  }
  const std::string text = lines.back() + "\n";
  const std::unique_ptr<WritableFile> log =
      ValueOrThrow(file.folder->OpenForAppend(file.name));
  ThrowIfError(log->Append(std::as_bytes(std::span<const char>(text))));
  ThrowIfError(log->Close());
}

std::string JSONLogger::State() const { return log_->State(); }
void JSONLogger::SetState(const std::string& state) { log_->SetState(state); }

}  // namespace capstan
