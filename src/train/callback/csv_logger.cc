#include <fmt/format.h>

#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/file/open_folder.h"
#include "capstan/callback.h"
#include "capstan/error.h"
#include "train/callback/epoch_log.h"
#include "train/callback/warn.h"

namespace capstan {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<Row> ParseRows(const std::string& text, char separator) {
  std::vector<Row> rows;
  std::vector<std::string> names;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, separator);
    if (names.empty()) {
      names = cells;
      continue;
    }
    Row row;
    for (size_t i = 0; i < std::min(names.size(), cells.size()); ++i) {
      if (!cells[i].empty()) row[names[i]] = cells[i];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<int> EpochOf(const Row& row) {
  int epoch = 0;
  const auto found = row.find("epoch");
  if (found == row.end() || !absl::SimpleAtoi(found->second, &epoch)) {
    return std::nullopt;
  }
  return epoch;
}

std::string ToText(const std::vector<Row>& rows, char separator) {
  std::set<std::string> names;
  for (const Row& row : rows) {
    for (const auto& [name, value] : row) names.insert(name);
  }
  names.erase("epoch");
  std::string text = "epoch";
  for (const std::string& name : names) {
    text += separator;
    text += name;
  }
  text += '\n';
  for (const Row& row : rows) {
    const auto epoch = row.find("epoch");
    if (epoch != row.end()) text += epoch->second;
    for (const std::string& name : names) {
      text += separator;
      const auto found = row.find(name);
      if (found != row.end()) text += found->second;
    }
    text += '\n';
  }
  return text;
}

}  // namespace

struct CSVLogger::Log : EpochLog<Row> {
  Log() : EpochLog(EpochOf) {}
};

CSVLogger::CSVLogger(std::string path, CsvLoggerOptions options)
    : path_(std::move(path)),
      options_(options),
      log_(std::make_shared<Log>()) {}
CSVLogger::~CSVLogger() = default;

void CSVLogger::OnTrainBegin(Logs& /*logs*/) {
  // Fail now rather than after the first epoch if the file cannot be created.
  OpenFolderOf(path_, IfMissing::kCreate);
  log_->Begin(options_.append ? ParseRows(ReadLog(path_), options_.separator)
                              : std::vector<Row>());
}

void CSVLogger::OnEpochEnd(int epoch, Logs& logs) {
  Row row;
  for (const auto& [name, value] : logs) row[name] = fmt::format("{}", value);
  row["epoch"] = std::to_string(epoch);
  try {
    log_->Add(epoch, std::move(row),
              [&] { return ParseRows(ReadLog(path_), options_.separator); });
    // Rewrite the whole file, because an epoch may add columns.
    const std::string text = ToText(log_->lines(), options_.separator);
    const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
    ThrowIfError(ReplaceFile(*file.folder, file.name,
                             std::as_bytes(std::span<const char>(text))));
  } catch (const Error& error) {
    Warn(*this, absl::StrCat(error.what(), "; the training goes on"));
  }
}

std::string CSVLogger::State() const { return log_->State(); }
void CSVLogger::SetState(const std::string& state) { log_->SetState(state); }

}  // namespace capstan
