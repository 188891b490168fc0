#include <fmt/format.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/open_folder.h"
#include "capstan/callback.h"
#include "capstan/error.h"

namespace capstan {
namespace {

using Row = std::map<std::string, std::string>;

// Of a log: a line for each epoch is not much.
constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

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

CSVLogger::CSVLogger(std::string path, CsvLoggerOptions options)
    : path_(std::move(path)), options_(options) {}
CSVLogger::~CSVLogger() = default;

void CSVLogger::OnTrainBegin(Logs& /*logs*/) {
  rows_.clear();
  if (!options_.append) return;
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  if (!ValueOrThrow(file.folder->Exists(file.name))) return;
  rows_ = ParseRows(ValueOrThrow(ReadFile(*file.folder, file.name, kMaxBytes)),
                    options_.separator);
}

void CSVLogger::OnEpochEnd(int epoch, Logs& logs) {
  Row row;
  for (const auto& [name, value] : logs) row[name] = fmt::format("{}", value);
  row["epoch"] = std::to_string(epoch);
  rows_.push_back(std::move(row));
  // As a whole: an epoch may be the first to have a certain column.
  const std::string text = ToText(rows_, options_.separator);
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  ThrowIfError(ReplaceFile(*file.folder, file.name,
                           std::as_bytes(std::span<const char>(text))));
}

}  // namespace capstan
