#include "train/evaluator/evaluation_log.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/file/open_folder.h"
#include "train/callback/monitor.h"
#include "train/json_text.h"

namespace capstan {
namespace {

constexpr uint64_t kMostLog = uint64_t{1} << 30;
constexpr char kBestIsLost[] = "best_is_lost";

}  // namespace

EvaluationLog::EvaluationLog(std::string path, std::string monitor,
                             MonitorMode mode)
    : path_(std::move(path)),
      monitor_(std::move(monitor)),
      mode_(ResolveMode(mode, monitor_)) {
  Read();
}

void EvaluationLog::Read() {
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  if (!ValueOrThrow(file.folder->Exists(file.name))) return;
  const std::string text =
      ValueOrThrow(ReadFile(*file.folder, file.name, kMostLog));
  // An evaluator that was killed while writing left a partial line.
  torn_line_ = !text.empty() && text.back() != '\n';
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    ReadLine(text.substr(begin, end - begin));
  }
}

void EvaluationLog::ReadLine(const std::string& text) {
  const auto line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object()) return;
  const auto name = line.find("checkpoint");
  if (name == line.end() || !name->is_string()) return;
  const auto save_id = line.find("save_id");
  if (save_id != line.end() && save_id->is_string()) {
    keys_.insert(save_id->get<std::string>());
  } else {
    names_.insert(name->get<std::string>());
  }
  const auto value = line.find(monitor_);
  if (value == line.end() || !value->is_number()) return;
  if (line.contains(kBestIsLost)) return;
  if (IsBest(value->get<double>())) best_ = value->get<double>();
}

bool EvaluationLog::IsBest(double value) const {
  if (std::isnan(value)) return false;
  return !best_ || IsBetter(mode_, value, *best_, 0);
}

void EvaluationLog::Add(const FoundCheckpoint& found, std::int64_t iterations,
                        const Logs& logs, bool best_is_lost) {
  std::string line = fmt::format(
      "{{\"checkpoint\": {}, \"save_id\": {}, \"iterations\": {}",
      JsonString(found.name), JsonString(found.save_id), iterations);
  for (const auto& [key, value] : logs) {
    line += fmt::format(", {}: {}", JsonString(key), JsonNumber(value));
  }
  if (best_is_lost) line += fmt::format(", \"{}\": true", kBestIsLost);
  line += "}\n";
  if (std::exchange(torn_line_, false)) line.insert(0, 1, '\n');
  Append(line);
  keys_.insert(found.key());
  const auto value = logs.find(monitor_);
  if (value == logs.end() || best_is_lost) return;
  if (IsBest(value->second)) best_ = value->second;
}

void EvaluationLog::Append(const std::string& line) const {
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  const bool there = ValueOrThrow(file.folder->Exists(file.name));
  const std::unique_ptr<WritableFile> log =
      there ? ValueOrThrow(file.folder->OpenForAppend(file.name))
            : ValueOrThrow(
                  file.folder->CreateForWrite(file.name, IfExists::kFail));
  ThrowIfError(log->Append(std::as_bytes(std::span<const char>(line))));
  ThrowIfError(log->Sync());
  ThrowIfError(log->Close());
}

}  // namespace capstan
