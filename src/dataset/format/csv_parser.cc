#include "dataset/format/csv_parser.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/cat.h"
#include "base/hash.h"
#include "dataset/format/csv_number.h"
#include "dataset/format/csv_text.h"
#include "dataset/recipe/quote_text.h"

namespace capstan {
namespace {

using Kind = CsvColumn::Kind;

void Put(std::byte* to, float value) { std::memcpy(to, &value, sizeof value); }
void Put(std::byte* to, std::int64_t value) {
  std::memcpy(to, &value, sizeof value);
}

bool EndsField(const char* p, char delimiter) {
  return *p == delimiter || *p == '\n' || (*p == '\r' && p[1] == '\n');
}

// Strips the blanks around `text`.
std::string_view Strip(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::int64_t HashOf(const CsvField& field, std::string_view text) {
  return field.offset +
         static_cast<std::int64_t>(field.buckets(Hash64(text, field.seed)));
}

}  // namespace

CsvParser::CsvParser(std::shared_ptr<const CsvPlan> listed, bool header)
    : plan_(std::move(listed)), header_(header) {}

std::unique_ptr<RecordParser> CsvParser::Fork() const {
  return std::make_unique<CsvParser>(plan_, false);
}

Progress CsvParser::Begin(std::string_view text, bool last) {
  const std::size_t mark = ByteOrderMarkSize(text);
  if (!header_) return {.consumed = mark, .stop = Progress::Stop::kFull};
  text.remove_prefix(mark);
  const char delimiter = plan_->delimiter;
  const char quote = plan_->quote;
  const char* const limit = FindLimit(text, last);
  const char* end = nullptr;
  if (limit != nullptr) {
    end = FindRecordEnd(text.data(), limit, delimiter, quote);
  }
  if (end == nullptr) {
    if (!last) return {.stop = Progress::Stop::kNeedMore};
    return {.stop = Progress::Stop::kLost, .reason = "the file has no header"};
  }
  std::vector<std::string> header;
  for (const char* p = text.data();; ++p) {
    if (quote != '\0' && *p == quote && ReadQuoted(p, end, quote, scratch_)) {
      header.push_back(scratch_);
      p = FindEither(p, delimiter);
    } else {
      const char* const q = FindEither(p, delimiter);
      header.emplace_back(p, q);
      p = q;
    }
    if (*p == '\n') break;
  }
  if (header.back().ends_with('\r')) header.back().pop_back();
  try {
    plan_ = std::make_shared<const CsvPlan>(PlanCsv(*plan_, header));
  } catch (const Error& error) {
    return {.stop = Progress::Stop::kLost,
            .reason = std::string(error.message())};
  }
  const auto consumed = static_cast<std::size_t>(end - text.data());
  return {.consumed = mark + std::min(consumed, text.size()),
          .stop = Progress::Stop::kFull};
}

Progress CsvParser::Parse(std::string_view text, bool last,
                          BlockBuilder& rows) {
  const char* p = text.data();
  const char* const limit = FindLimit(text, last);
  const auto place = [&](const char* at) {
    return std::min(static_cast<std::size_t>(at - text.data()), text.size());
  };
  columns_.resize(plan_->layout->size());
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i] = rows.Fixed(i);
  while (limit != nullptr && p < limit) {
    if (rows.full()) {
      return {.consumed = place(p), .stop = Progress::Stop::kFull};
    }
    if (SkipEmptyLine(p)) continue;
    const char* const begin = p;
    switch (ParseRow(p, limit)) {
      case RowEnd::kGood:
        rows.EndRow();
        for (std::size_t i = 0; i < columns_.size(); ++i) {
          columns_[i] = rows.Fixed(i);
        }
        break;
      case RowEnd::kNeedMore:
        if (!last) return {.consumed = place(begin)};
        return {.consumed = text.size(),
                .stop = Progress::Stop::kLost,
                .reason = "a quote is not closed",
                .at = place(begin)};
      case RowEnd::kBad:
        return {.consumed = place(p),
                .stop = Progress::Stop::kBad,
                .reason = std::exchange(reason_, {}),
                .at = place(begin)};
    }
  }
  return {.consumed = place(p)};
}

CsvParser::RowEnd CsvParser::ParseRow(const char*& p, const char* limit) {
  // The usual delimiters are constants, which saves a load per comparison.
  if (plan_->delimiter == ',') return ParseFields<','>(p, limit);
  if (plan_->delimiter == '\t') return ParseFields<'\t'>(p, limit);
  return ParseFields<'\0'>(p, limit);
}

template <char kDelimiter>
CsvParser::RowEnd CsvParser::ParseFields(const char*& p, const char* limit) {
  const char delimiter = kDelimiter == '\0' ? plan_->delimiter : kDelimiter;
  const char quote = plan_->quote;
  const CsvField* const fields = plan_->fields.data();
  const std::size_t count = plan_->fields.size();
  const char* const begin = p;
  for (std::size_t i = 0; i < count; ++i) {
    const CsvField& field = fields[i];
    bool done = false;
    if (quote == '\0' || *p != quote) {
      switch (field.kind) {
        case Kind::kIgnored: {
          const char* q = FindEither(p, delimiter);
          if (*q == '\n' && q != p && q[-1] == '\r') --q;
          p = q;
          done = true;
          break;
        }
        case Kind::kFloat: {
          float value = 0;
          if (EndsField(p, delimiter)) {
            if (!field.has_missing) break;
            value = field.missing_float;
          } else {
            const char* const q = ReadFloat(p, limit, value);
            if (q == nullptr || !EndsField(q, delimiter)) break;
            p = q;
            value = field.Finish(value);
          }
          Put(columns_[field.column] + field.row_offset, value);
          done = true;
          break;
        }
        case Kind::kInteger: {
          std::int64_t value = 0;
          if (EndsField(p, delimiter)) break;
          const char* const q = ReadInteger(p, value);
          if (q == nullptr || !EndsField(q, delimiter)) break;
          p = q;
          Put(columns_[field.column] + field.row_offset, value);
          done = true;
          break;
        }
        case Kind::kHash: {
          const char* q = FindEither(p, delimiter);
          if (*q == '\n' && q != p && q[-1] == '\r') --q;
          Put(columns_[field.column] + field.row_offset,
              HashOf(field, {p, static_cast<std::size_t>(q - p)}));
          p = q;
          done = true;
          break;
        }
        case Kind::kVocabulary:
          break;
      }
    }
    if (!done && !ParseSlowly(field, i, p, limit)) {
      return GoPast(begin, limit, p);
    }
    // Every field but the last must end with a delimiter.
    if (i + 1 < count) {
      if (*p == delimiter) {
        ++p;
        continue;
      }
    } else {
      if (*p == '\r' && p[1] == '\n') ++p;
      if (*p == '\n') break;
    }
    std::size_t found = i + 1;
    for (; *p == delimiter; ++found) p = FindEither(p + 1, delimiter);
    reason_ = Cat(found, " columns; ", count, " were expected");
    return GoPast(begin, limit, p);
  }
  ++p;
  return RowEnd::kGood;
}

CsvParser::RowEnd CsvParser::GoPast(const char* begin, const char* limit,
                                    const char*& p) {
  const char* const end =
      FindRecordEnd(begin, limit, plan_->delimiter, plan_->quote);
  if (reason_.empty() || end == nullptr) {
    reason_.clear();
    return RowEnd::kNeedMore;
  }
  p = end;
  return RowEnd::kBad;
}

bool CsvParser::ParseSlowly(const CsvField& field, std::size_t number,
                            const char*& p, const char* limit) {
  const char delimiter = plan_->delimiter;
  if (plan_->quote != '\0' && *p == plan_->quote) {
    if (!ReadQuoted(p, limit, plan_->quote, scratch_)) return false;
    if (p >= limit) return false;
    if (*p != delimiter && *p != '\n' && *p != '\r') {
      return Fail(number, "something follows the closing quote");
    }
    return Store(field, number, scratch_);
  }
  const char* q = FindEither(p, delimiter);
  if (*q == '\n' && q != p && q[-1] == '\r') --q;
  const std::string_view text(p, static_cast<std::size_t>(q - p));
  p = q;
  return Store(field, number, text);
}

bool CsvParser::Store(const CsvField& field, std::size_t number,
                      std::string_view text) {
  if (field.kind == Kind::kIgnored) return true;
  std::byte* const to = columns_[field.column] + field.row_offset;
  if (field.kind == Kind::kHash) {
    Put(to, HashOf(field, text));
    return true;
  }
  if (field.kind == Kind::kVocabulary) {
    const auto found = field.vocabulary->find(ToAbsl(text));
    if (found == field.vocabulary->end() && !field.has_unknown) {
      return Fail(number, QuoteText(text) + " is not in the vocabulary");
    }
    const std::int64_t id =
        found == field.vocabulary->end() ? field.unknown : found->second;
    Put(to, field.offset + id);
    return true;
  }
  std::string_view digits = Strip(text);
  if (digits.empty()) {
    if (!field.has_missing) {
      return Fail(number, "is empty, and `missing` is not given");
    }
    if (field.kind == Kind::kFloat) {
      Put(to, field.missing_float);
    } else {
      Put(to, field.missing_integer);
    }
    return true;
  }
  if (digits.starts_with('+') && digits.substr(1, 1) != "-") {
    digits.remove_prefix(1);
  }
  const char* const end = digits.data() + digits.size();
  if (field.kind == Kind::kFloat) {
    float value = 0;
    const auto result = fast_float::from_chars(digits.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end) {
      return Fail(number, QuoteText(text) + " is not a number");
    }
    Put(to, field.Finish(value));
    return true;
  }
  std::int64_t value = 0;
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) {
    return Fail(number, QuoteText(text) + " is not an integer");
  }
  Put(to, value);
  return true;
}

bool CsvParser::Fail(std::size_t number, std::string_view reason) {
  const std::string& name = plan_->fields[number].name;
  reason_ = Cat("column ", number + 1, name.empty() ? "" : " ",
                name.empty() ? "" : QuoteText(name), ": ", reason);
  return false;
}

Progress CsvParser::Scan(std::string_view text, bool last, std::uint64_t offset,
                         std::vector<std::uint64_t>& starts) {
  const char* p = text.data();
  const char* const limit = FindLimit(text, last);
  while (limit != nullptr && p < limit) {
    if (SkipEmptyLine(p)) continue;
    const char* end = nullptr;
    if (plan_->quote == '\0') {
      end = static_cast<const char*>(
                std::memchr(p, '\n', static_cast<std::size_t>(limit - p))) +
            1;
    } else {
      end = FindRecordEnd(p, limit, plan_->delimiter, plan_->quote);
    }
    if (end == nullptr) {
      if (!last) break;
      // Parse reports what is wrong with it.
      end = limit;
    }
    starts.push_back(offset + static_cast<std::uint64_t>(p - text.data()));
    p = end;
  }
  return {.consumed =
              std::min(static_cast<std::size_t>(p - text.data()), text.size())};
}

}  // namespace capstan
