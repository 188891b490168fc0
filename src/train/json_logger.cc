#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/open_folder.h"
#include "capstan/callback.h"
#include "capstan/error.h"
#include "train/callback_state.h"
#include "train/json_text.h"
#include "train/kept_epochs.h"
#include "train/warn.h"

namespace capstan {
namespace {

// Of a log: a line for each epoch is not much.
constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

std::optional<int> EpochOf(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find("epoch");
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int>();
}

}  // namespace

JSONLogger::JSONLogger(std::string path, bool append)
    : path_(std::move(path)), append_(append) {}
JSONLogger::~JSONLogger() = default;

std::vector<std::string> JSONLogger::ReadLines() const {
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  if (!ValueOrThrow(file.folder->Exists(file.name))) return {};
  // One that was cut off in the middle is a line too: of no epoch.
  return absl::StrSplit(
      ValueOrThrow(ReadFile(*file.folder, file.name, kMaxBytes)), '\n',
      absl::SkipEmpty());
}

void JSONLogger::OnTrainBegin(Logs& /*logs*/) {
  // Not at the end of the first epoch, if there can be no such file.
  OpenFolderOf(path_, IfMissing::kCreate);
  // It stays as it is: only SetState tells whether this Fit is a new one.
  lines_.clear();
  if (append_) lines_ = ReadLines();
  before_ = static_cast<int64_t>(lines_.size());
  first_.reset();
  known_ = true;
  resumed_ = false;
  in_file_ = false;
}

void JSONLogger::OnEpochEnd(int epoch, Logs& logs) {
  std::string line = absl::StrCat("{\"epoch\": ", epoch);
  for (const auto& [name, value] : logs) {
    absl::StrAppend(&line, ", ", JsonString(name), ": ", JsonNumber(value));
  }
  line += "}";
  try {
    if (resumed_) {
      if (!known_) lines_ = ReadLines();
      lines_ = KeptEpochs(lines_, before_, first_, epoch, EpochOf);
      known_ = true;
      resumed_ = false;
      in_file_ = false;
    }
    lines_.push_back(std::move(line));
    if (!first_) first_ = epoch;
    // If it fails, there may be a part of a line.
    const bool in_file = std::exchange(in_file_, false);
    Write(in_file);
    in_file_ = true;
  } catch (const Error& error) {
    Warn(*this, absl::StrCat(error.what(), "; the training goes on"));
  }
}

void JSONLogger::Write(bool last_only) const {
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  if (!last_only || !ValueOrThrow(file.folder->Exists(file.name))) {
    const std::string text = absl::StrJoin(lines_, "\n") + "\n";
    ThrowIfError(ReplaceFile(*file.folder, file.name,
                             std::as_bytes(std::span<const char>(text))));
    return;
  }
  const std::string text = lines_.back() + "\n";
  const std::unique_ptr<WritableFile> log =
      ValueOrThrow(file.folder->OpenForAppend(file.name));
  ThrowIfError(log->Append(std::as_bytes(std::span<const char>(text))));
  ThrowIfError(log->Close());
}

std::string JSONLogger::State() const {
  return EncodeState({static_cast<double>(before_), first_});
}

void JSONLogger::SetState(const std::string& state) {
  const auto numbers = DecodeState(state, 2);
  // Those that this process has logged may not all have been written.
  known_ = known_ && first_;
  resumed_ = true;
  before_ = static_cast<int64_t>(numbers[0].value_or(0));
  first_.reset();
  if (numbers[1]) first_ = static_cast<int>(*numbers[1]);
}

}  // namespace capstan
