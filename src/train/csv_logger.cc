#include <fmt/format.h>

#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/open_folder.h"
#include "capstan/callback.h"
#include "capstan/error.h"
#include "train/callback_state.h"
#include "train/kept_epochs.h"
#include "train/warn.h"

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

CSVLogger::CSVLogger(std::string path, CsvLoggerOptions options)
    : path_(std::move(path)), options_(options) {}
CSVLogger::~CSVLogger() = default;

std::vector<CSVLogger::Row> CSVLogger::ReadRows() const {
  const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
  if (!ValueOrThrow(file.folder->Exists(file.name))) return {};
  return ParseRows(ValueOrThrow(ReadFile(*file.folder, file.name, kMaxBytes)),
                   options_.separator);
}

void CSVLogger::OnTrainBegin(Logs& /*logs*/) {
  // Not at the end of the first epoch, if there can be no such file.
  OpenFolderOf(path_, IfMissing::kCreate);
  // It stays as it is: only SetState tells whether this Fit is a new one.
  rows_.clear();
  if (options_.append) rows_ = ReadRows();
  before_ = static_cast<int64_t>(rows_.size());
  first_.reset();
  known_ = true;
  resumed_ = false;
}

void CSVLogger::OnEpochEnd(int epoch, Logs& logs) {
  try {
    if (resumed_) {
      if (!known_) rows_ = ReadRows();
      rows_ = KeptEpochs(rows_, before_, first_, epoch, EpochOf);
      known_ = true;
      resumed_ = false;
    }
    Row row;
    for (const auto& [name, value] : logs) row[name] = fmt::format("{}", value);
    row["epoch"] = std::to_string(epoch);
    rows_.push_back(std::move(row));
    if (!first_) first_ = epoch;
    // As a whole: an epoch may be the first to have a certain column.
    const std::string text = ToText(rows_, options_.separator);
    const FileInFolder file = OpenFolderOf(path_, IfMissing::kCreate);
    ThrowIfError(ReplaceFile(*file.folder, file.name,
                             std::as_bytes(std::span<const char>(text))));
  } catch (const Error& error) {
    Warn(*this, absl::StrCat(error.what(), "; the training goes on"));
  }
}

std::string CSVLogger::State() const {
  return EncodeState({static_cast<double>(before_), first_});
}

void CSVLogger::SetState(const std::string& state) {
  const auto numbers = DecodeState(state, 2);
  // Those that this process has logged may not all have been written.
  known_ = known_ && first_;
  resumed_ = true;
  before_ = static_cast<int64_t>(numbers[0].value_or(0));
  first_.reset();
  if (numbers[1]) first_ = static_cast<int>(*numbers[1]);
}

}  // namespace capstan
