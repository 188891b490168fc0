#include <memory>
#include <optional>
#include <utility>

#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/format/records.h"
#include "dataset/format/sources.h"
#include "dataset/format/tf_example.h"
#include "dataset/format/tfrecord.h"

namespace capstan {
namespace {

std::shared_ptr<const Layout> RawLayout() {
  return std::make_shared<const Layout>(
      Layout{{"record", DType::kU8, Shape(), true}});
}

class TfRecordFormat final : public RecordFormat {
 public:
  explicit TfRecordFormat(TfRecordOptions options)
      : bad_records_(options.bad_records),
        max_record_bytes_(options.max_record_bytes),
        layout_(RawLayout()) {
    if (options.features.empty()) return;
    examples_.emplace(std::move(options.features));
    layout_ = examples_->layout();
  }

  std::string_view name() const override { return "TfRecord"; }
  std::unique_ptr<RecordParser> NewParser() const override;
  const BadRecords& bad_records() const override { return bad_records_; }
  // The frame comes on top.
  std::uint64_t max_record_bytes() const override {
    return max_record_bytes_ + kTfRecordFrame;
  }

  std::uint64_t max_data_bytes() const { return max_record_bytes_; }
  const std::shared_ptr<const Layout>& layout() const { return layout_; }

  // Returns why the record is bad, or "".
  std::string Parse(std::string_view record, BlockBuilder& rows) const {
    if (examples_) return examples_->Parse(record, rows);
    rows.Append(0, record.data(), record.size());
    return "";
  }

 private:
  const BadRecords bad_records_;
  const std::uint64_t max_record_bytes_;
  std::shared_ptr<const Layout> layout_;
  std::optional<TfExampleParser> examples_;  // null: records as they are
};

class TfRecordParser final : public RecordParser {
 public:
  explicit TfRecordParser(const TfRecordFormat& format) : format_(format) {}

  Progress Begin(std::string_view /*text*/, bool /*last*/) override {
    return {.stop = Progress::Stop::kFull};
  }
  bool has_lines() const override { return false; }
  const std::shared_ptr<const Layout>& layout() const override {
    return format_.layout();
  }
  std::unique_ptr<RecordParser> Fork() const override {
    return std::make_unique<TfRecordParser>(format_);
  }

  Progress Parse(std::string_view text, bool last,
                 BlockBuilder& rows) override {
    std::size_t at = 0;
    while (at < text.size()) {
      if (rows.full()) {
        return {.consumed = at, .stop = Progress::Stop::kFull};
      }
      const TfRecordFrame frame =
          ReadTfRecord(text.substr(at), format_.max_data_bytes());
      if (frame.state == TfRecordFrame::State::kShort && !last) break;
      if (frame.state != TfRecordFrame::State::kWhole) {
        return Lost(text, at, frame);
      }
      const std::size_t next = at + kTfRecordFrame + frame.data.size();
      if (!CheckTfRecord(frame)) {
        return Bad(at, next, ErrorCode::kDataLoss,
                   "the record's data does not match its checksum");
      }
      std::string reason = format_.Parse(frame.data, rows);
      if (!reason.empty()) {
        rows.AbandonRow();
        return Bad(at, next, ErrorCode::kInvalidArgument, std::move(reason));
      }
      rows.EndRow();
      at = next;
    }
    return {.consumed = at};
  }

  Progress Scan(std::string_view text, bool last, std::uint64_t offset,
                std::vector<std::uint64_t>& starts) override {
    std::size_t at = 0;
    while (at < text.size()) {
      const TfRecordFrame frame =
          ReadTfRecord(text.substr(at), format_.max_data_bytes());
      if (frame.state == TfRecordFrame::State::kShort && !last) break;
      if (frame.state != TfRecordFrame::State::kWhole) {
        return Lost(text, at, frame);
      }
      starts.push_back(offset + at);
      at += kTfRecordFrame + frame.data.size();
    }
    return {.consumed = at};
  }

 private:
  static Progress Bad(std::size_t at, std::size_t next, ErrorCode code,
                      std::string reason) {
    return {.consumed = next,
            .stop = Progress::Stop::kBad,
            .code = code,
            .reason = std::move(reason),
            .at = at};
  }

  Progress Lost(std::string_view text, std::size_t at,
                const TfRecordFrame& frame) const {
    std::string reason;
    if (frame.state == TfRecordFrame::State::kShort) {
      reason = "the record is cut short by the end of the file";
    } else if (frame.state == TfRecordFrame::State::kDamaged) {
      reason = "the record's length does not match its checksum";
    } else {
      reason =
          Cat("the record is longer than ", format_.max_data_bytes(), " bytes");
    }
    return {.consumed = text.size(),
            .stop = Progress::Stop::kLost,
            .code = ErrorCode::kDataLoss,
            .reason = std::move(reason),
            .at = at};
  }

  const TfRecordFormat& format_;
};

std::unique_ptr<RecordParser> TfRecordFormat::NewParser() const {
  return std::make_unique<TfRecordParser>(*this);
}

}  // namespace

RecipePtr MakeTfRecord(std::string pattern, TfRecordOptions options) {
  // Keeps sums with it from overflowing.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  if (options.max_record_bytes > kMost) {
    throw Error(ErrorCode::kInvalidArgument,
                Cat("TfRecord: max_record_bytes is ", options.max_record_bytes,
                    ", more than ", kMost));
  }
  return MakeRecords(std::move(pattern),
                     std::make_unique<TfRecordFormat>(std::move(options)));
}

}  // namespace capstan
