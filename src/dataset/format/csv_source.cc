#include <memory>
#include <utility>

#include "base/cat.h"
#include "dataset/format/csv_parser.h"
#include "dataset/format/csv_plan.h"
#include "dataset/format/records.h"
#include "dataset/format/sources.h"

namespace capstan {
namespace {

class CsvFormat final : public RecordFormat {
 public:
  explicit CsvFormat(const CsvOptions& options)
      : plan_(std::make_shared<const CsvPlan>(PlanCsv(options))),
        header_(options.header),
        bad_records_(options.bad_records) {}

  std::string_view name() const override { return "Csv"; }
  std::unique_ptr<RecordParser> NewParser() const override {
    return std::make_unique<CsvParser>(plan_, header_);
  }
  const BadRecords& bad_records() const override { return bad_records_; }
  std::uint64_t max_record_bytes() const override { return kMaxLineBytes; }

 private:
  const std::shared_ptr<const CsvPlan> plan_;
  const bool header_;
  const BadRecords bad_records_;
};

}  // namespace

CsvOptions CsvOptions::Criteo(std::int64_t buckets) {
  CsvOptions options;
  options.delimiter = '\t';
  options.quote = '\0';
  options.header = false;
  options.columns.push_back({.name = "label"});
  for (int i = 1; i <= 13; ++i) {
    options.columns.push_back(
        {.name = Cat("I", i), .output = "dense", .missing = 0, .log1p = true});
  }
  for (int i = 0; i < 26; ++i) {
    options.columns.push_back({.name = Cat("C", i + 1),
                               .kind = CsvColumn::Kind::kHash,
                               .output = "ids",
                               .buckets = buckets,
                               .offset = i * buckets});
  }
  return options;
}

RecipePtr MakeCsv(std::string pattern, const CsvOptions& options) {
  return MakeRecords(std::move(pattern), std::make_unique<CsvFormat>(options));
}

}  // namespace capstan
