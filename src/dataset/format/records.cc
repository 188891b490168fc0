#include "dataset/format/records.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "dataset/format/input_file.h"
#include "dataset/format/record_file.h"
#include "dataset/recipe/only_errors.h"

namespace capstan {
namespace {

// How many rows are parsed at a time.
constexpr std::int64_t kRows = 256;

class RecordCursor final : public Cursor {
 public:
  RecordCursor(const std::string& pattern, const RecordFormat& format,
               const Iteration& iteration)
      : pattern_(pattern),
        format_(format),
        iteration_(iteration),
        reading_(pattern) {}

  Run Next(std::int64_t max) override {
    return OnlyErrors(reading_, [&] { return NextRows(max); });
  }

 private:
  Run NextRows(std::int64_t max) {
    while (run_.size() == 0) {
      iteration_.ThrowIfStopped();
      // The error that came after rows that have been returned since.
      if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
      if (!ReadBlock()) return {};
    }
    Run taken = run_;
    taken.end = std::min(taken.end, taken.begin + max);
    run_.begin = taken.end;
    return taken;
  }

  // Puts rows into run_, possibly none; false if there are no more.
  bool ReadBlock() {
    if (!paths_) paths_ = ValueOrThrow(MatchFiles(pattern_));
    if (!file_) {
      if (at_ == paths_->size()) return false;
      // Advance first: if the file cannot be opened, the next one can be read.
      reading_ = (*paths_)[at_++];
      file_.emplace(reading_, format_);
    }
    BlockBuilder rows(file_->layout(), kRows);
    try {
      if (!file_->Read(rows)) file_.reset();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    const std::int64_t size = rows.rows();
    if (size > 0) run_ = {rows.Finish(), 0, size};
    return true;
  }

  const std::string& pattern_;
  const RecordFormat& format_;
  const Iteration iteration_;
  std::optional<std::vector<std::string>> paths_;  // once matched
  std::size_t at_ = 0;                             // index of the next one
  std::string reading_;                            // current file, or pattern_
  std::optional<RecordFile> file_;
  Run run_;  // parsed and not yet returned
  std::exception_ptr thrown_;
};

class Records final : public Recipe {
 public:
  Records(std::string pattern, std::unique_ptr<const RecordFormat> format)
      : pattern_(std::move(pattern)), format_(std::move(format)) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<RecordCursor>(pattern_, *format_, iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    if (format_->bad_records().skips()) {
      ThrowNoTable(format_->name(),
                   "it skips bad records, which would leave holes in the "
                   "numbers: let it stop at them");
    }
    return OpenRecordTable(pattern_, *format_);
  }
  std::optional<std::int64_t> Cardinality() const override {
    return std::nullopt;
  }

 private:
  const std::string pattern_;
  const std::unique_ptr<const RecordFormat> format_;
};

}  // namespace

RecipePtr MakeRecords(std::string pattern,
                      std::unique_ptr<const RecordFormat> format) {
  return std::make_shared<Records>(std::move(pattern), std::move(format));
}

}  // namespace capstan
