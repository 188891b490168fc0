// Parses CSV into rows of tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/format/csv_plan.h"
#include "dataset/format/record_format.h"

namespace capstan {

class CsvParser final : public RecordParser {
 public:
  // For files with a header (`header`) or without one. `listed` is the plan of
  // the options.
  CsvParser(std::shared_ptr<const CsvPlan> listed, bool header);

  Progress Begin(std::string_view text, bool last) override;
  bool has_lines() const override { return true; }
  const std::shared_ptr<const Layout>& layout() const override {
    return plan_->layout;
  }
  Progress Parse(std::string_view text, bool last, BlockBuilder& rows) override;
  Progress Scan(std::string_view text, bool last, std::uint64_t offset,
                std::vector<std::uint64_t>& starts) override;
  std::unique_ptr<RecordParser> Fork() const override;

 private:
  enum class RowEnd { kGood, kNeedMore, kBad };

  // Parses the row at `p`, which must not be empty, and moves past it. May read
  // text up to `limit`, where a line ends.
  RowEnd ParseRow(const char*& p, const char* limit);
  template <char kDelimiter>
  RowEnd ParseFields(const char*& p, const char* limit);
  // After a field that cannot be read: moves `p` past the field's row, if that
  // ends before `limit`.
  RowEnd GoPast(const char* begin, const char* limit, const char*& p);
  // Parses one field and moves to what ends it; on false, reason_ says why not.
  bool ParseSlowly(const CsvField& field, std::size_t number, const char*& p,
                   const char* limit);
  bool Store(const CsvField& field, std::size_t number, std::string_view text);
  bool Fail(std::size_t number, std::string_view reason);

  std::shared_ptr<const CsvPlan> plan_;  // of the file, after Begin
  const bool header_;

  // Of the row being parsed.
  std::vector<std::byte*> columns_;
  std::string reason_;
  std::string scratch_;
};

}  // namespace capstan
