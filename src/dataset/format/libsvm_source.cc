#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "base/cat.h"
#include "dataset/format/csv_text.h"
#include "dataset/format/records.h"
#include "dataset/format/sources.h"
#include "dataset/recipe/quote_text.h"

namespace capstan {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::shared_ptr<const Layout> LayoutOf(const LibSvmOptions& options) {
  Layout layout = {{"y", DType::kF32, Shape(), false}};
  if (options.num_features > 0) {
    layout.push_back({"x", DType::kF32, Shape({options.num_features}), false});
  } else {
    layout.push_back({"ids", DType::kI64, Shape(), true});
    layout.push_back({"values", DType::kF32, Shape(), true});
  }
  return std::make_shared<const Layout>(std::move(layout));
}

// The indices of the columns in the layout.
constexpr std::size_t kLabel = 0;
constexpr std::size_t kDense = 1;
constexpr std::size_t kIds = 1;
constexpr std::size_t kValues = 2;

class LibSvmParser final : public RecordParser {
 public:
  LibSvmParser(const LibSvmOptions& options,
               std::shared_ptr<const Layout> layout)
      : options_(options), layout_(std::move(layout)) {}

  Progress Begin(std::string_view text, bool /*last*/) override {
    return {.consumed = ByteOrderMarkSize(text), .stop = Progress::Stop::kFull};
  }
  bool has_lines() const override { return true; }
  const std::shared_ptr<const Layout>& layout() const override {
    return layout_;
  }
  std::unique_ptr<RecordParser> Fork() const override {
    return std::make_unique<LibSvmParser>(options_, layout_);
  }

  Progress Parse(std::string_view text, bool last,
                 BlockBuilder& rows) override {
    const char* p = text.data();
    const char* const limit = FindLimit(text, last);
    Progress progress;
    while (limit != nullptr && p < limit &&
           progress.stop == Progress::Stop::kNeedMore) {
      if (rows.full()) {
        progress.stop = Progress::Stop::kFull;
        break;
      }
      const char* const end = EndOfLine(p, limit);
      if (!IsEmpty(p)) {
        if (ParseLine(p, end, rows)) {
          rows.EndRow();
        } else {
          rows.AbandonRow();
          progress.stop = Progress::Stop::kBad;
          progress.reason = std::exchange(reason_, {});
          progress.at = static_cast<std::size_t>(p - text.data());
        }
      }
      p = end + 1;
    }
    progress.consumed =
        std::min(static_cast<std::size_t>(p - text.data()), text.size());
    return progress;
  }

  Progress Scan(std::string_view text, bool last, std::uint64_t offset,
                std::vector<std::uint64_t>& starts) override {
    const char* p = text.data();
    const char* const limit = FindLimit(text, last);
    while (limit != nullptr && p < limit) {
      if (!IsEmpty(p)) {
        starts.push_back(offset + static_cast<std::uint64_t>(p - text.data()));
      }
      p = EndOfLine(p, limit) + 1;
    }
    return {.consumed = std::min(static_cast<std::size_t>(p - text.data()),
                                 text.size())};
  }

 private:
  static const char* EndOfLine(const char* p, const char* limit) {
    return static_cast<const char*>(
        std::memchr(p, '\n', static_cast<std::size_t>(limit - p)));
  }

  // Whether the rest of the line is blank or a comment.
  static bool IsEmpty(const char* p) {
    while (IsBlank(*p)) ++p;
    return *p == '\n' || *p == '#';
  }

  bool Fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  // The word at `p`, for messages.
  static std::string WordAt(const char* p) {
    const char* q = p;
    while (!IsBlank(*q) && *q != '\n') ++q;
    return QuoteText({p, static_cast<std::size_t>(q - p)});
  }

  static const char* ReadNumber(const char* p, const char* end, float& value) {
    if (*p == '+' && p[1] != '-') ++p;
    const auto result = fast_float::from_chars(p, end, value);
    if (result.ec != std::errc()) return nullptr;
    const bool ends =
        result.ptr == end || IsBlank(*result.ptr) || *result.ptr == '#';
    return ends ? result.ptr : nullptr;
  }

  bool ParseLine(const char* p, const char* end, BlockBuilder& rows) {
    while (IsBlank(*p)) ++p;
    float label = 0;
    const char* q = ReadNumber(p, end, label);
    if (q == nullptr) return Fail("label " + WordAt(p) + " is not a number");
    std::memcpy(rows.Fixed(kLabel), &label, sizeof label);
    std::byte* const dense =
        options_.num_features > 0 ? rows.Fixed(kDense) : nullptr;
    if (dense != nullptr) {
      std::memset(
          dense, 0,
          static_cast<std::size_t>(options_.num_features) * sizeof(float));
    }
    std::int64_t last = -1;
    while (true) {
      while (IsBlank(*q)) ++q;
      if (q == end || *q == '#') return true;
      std::int64_t id = 0;
      float value = 0;
      const auto read = std::from_chars(q, end, id);
      const char* next = nullptr;
      if (read.ec == std::errc() && read.ptr != end && *read.ptr == ':') {
        next = ReadNumber(read.ptr + 1, end, value);
      }
      if (next == nullptr) return Fail(WordAt(q) + " is not feature:value");
      const std::int64_t first = options_.one_based ? 1 : 0;
      if (id < first ||
          (dense != nullptr && id - first >= options_.num_features)) {
        return Fail(Cat("feature ", id, " is out of range"));
      }
      id -= first;
      if (id <= last) return Fail(WordAt(q) + ": features must ascend");
      last = id;
      if (dense != nullptr) {
        std::memcpy(dense + static_cast<std::size_t>(id) * sizeof value, &value,
                    sizeof value);
      } else {
        rows.Append(kIds, &id, sizeof id);
        rows.Append(kValues, &value, sizeof value);
      }
      q = next;
    }
  }

  const LibSvmOptions& options_;
  const std::shared_ptr<const Layout> layout_;
  std::string reason_;
};

class LibSvmFormat final : public RecordFormat {
 public:
  explicit LibSvmFormat(LibSvmOptions options)
      : options_(std::move(options)), layout_(LayoutOf(options_)) {}

  std::string_view name() const override { return "LibSvm"; }
  std::unique_ptr<RecordParser> NewParser() const override {
    return std::make_unique<LibSvmParser>(options_, layout_);
  }
  const BadRecords& bad_records() const override {
    return options_.bad_records;
  }
  std::uint64_t max_record_bytes() const override { return kMaxLineBytes; }

 private:
  const LibSvmOptions options_;
  const std::shared_ptr<const Layout> layout_;
};

}  // namespace

RecipePtr MakeLibSvm(std::string pattern, LibSvmOptions options) {
  CheckAtLeast("LibSvm: num_features", options.num_features, 0);
  return MakeRecords(std::move(pattern),
                     std::make_unique<LibSvmFormat>(std::move(options)));
}

}  // namespace capstan
