#include "dataset/format/record_file.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/cat.h"
#include "base/error.h"
#include "dataset/format/input_file.h"

namespace capstan {
namespace {

// Small enough for the second-level cache, large enough for few system calls.
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;

std::unique_ptr<char[]> NewBuffer(std::size_t capacity) {
  return std::make_unique_for_overwrite<char[]>(capacity + kSlack);
}

// No more than a small file needs; one extra byte shows that it has ended.
std::size_t CapacityFor(const ReadableFile& file) {
  const auto size = ValueOrThrow(file.Size());
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(kChunkBytes, size + 1));
}

}  // namespace

Error BadRecordError(const std::string& path, const ReadableFile& file,
                     const RecordParser& parser, LineCounter& lines,
                     const Progress& progress, std::uint64_t offset) {
  const std::uint64_t line =
      parser.has_lines() ? lines.LineAt(file, offset) : 0;
  const std::string place = line > 0 ? Cat(":", line) : Cat(", byte ", offset);
  return Error(progress.code, Cat(path, place, ": ", progress.reason));
}

RecordFile::RecordFile(std::string path, const RecordFormat& format)
    : path_(std::move(path)),
      format_(format),
      file_(ValueOrThrow(OpenInputFile(path_))),
      parser_(format.NewParser()),
      capacity_(CapacityFor(*file_)) {
  buffer_ = NewBuffer(capacity_);
  while (true) {
    if (!Refill()) ThrowBad(TooLong());
    const Progress progress = parser_->Begin(text(), last_);
    if (progress.stop == Progress::Stop::kNeedMore && !last_) continue;
    // Not counted as a bad record: without the header nothing can be read.
    if (progress.stop != Progress::Stop::kFull) ThrowBad(progress);
    Consume(progress);
    return;
  }
}

bool RecordFile::Read(BlockBuilder& rows) {
  while (file_ != nullptr) {
    const Progress progress = parser_->Parse(text(), last_, rows);
    const std::uint64_t at = offset_ + progress.at;
    Consume(progress);
    switch (progress.stop) {
      case Progress::Stop::kFull:
        return true;
      case Progress::Stop::kNeedMore:
        if (last_) return false;
        if (Refill()) break;
        GiveUp(TooLong(), offset_);
        break;
      case Progress::Stop::kLost:
        GiveUp(progress, at);
        break;
      case Progress::Stop::kBad:
        HandleBad(*file_, progress, at);
        break;
    }
  }
  return false;
}

std::vector<std::uint64_t> RecordFile::ScanAll() {
  std::vector<std::uint64_t> starts;
  while (true) {
    const Progress progress = parser_->Scan(text(), last_, offset_, starts);
    if (progress.stop != Progress::Stop::kNeedMore) ThrowBad(progress);
    Consume(progress);
    if (last_) break;
    if (!Refill()) ThrowBad(TooLong());
  }
  starts.push_back(offset_);
  return starts;
}

void RecordFile::Consume(const Progress& progress) {
  begin_ += progress.consumed;
  offset_ += progress.consumed;
}

bool RecordFile::Refill() {
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == capacity_) {
    const std::uint64_t most = format_.max_record_bytes();
    if (capacity_ >= most) return false;
    const auto larger_size =
        static_cast<std::size_t>(std::min<std::uint64_t>(2 * capacity_, most));
    auto larger = NewBuffer(larger_size);
    std::memcpy(larger.get(), buffer_.get(), end_);
    buffer_ = std::move(larger);
    capacity_ = larger_size;
  }
  const std::span<char> free(buffer_.get() + end_, capacity_ - end_);
  absl::StatusOr<std::size_t> got =
      file_->ReadAt(offset_ + end_, std::as_writable_bytes(free));
  if (!got.ok()) {
    file_ = nullptr;
    ThrowIfError(got.status());
  }
  end_ += *got;
  last_ = *got < free.size();
  std::memset(buffer_.get() + end_, '\n', kSlack);
  return true;
}

Progress RecordFile::TooLong() const {
  return {.stop = Progress::Stop::kLost,
          .reason = Cat("a record is longer than ", format_.max_record_bytes(),
                        " bytes")};
}

void RecordFile::HandleBad(const ReadableFile& file, const Progress& progress,
                           std::uint64_t offset) {
  if (!format_.bad_records().skips()) {
    throw BadRecordError(path_, file, *parser_, lines_, progress, offset);
  }
  format_.bad_records().Count();
}

void RecordFile::GiveUp(const Progress& progress, std::uint64_t offset) {
  const std::unique_ptr<ReadableFile> file = std::move(file_);
  HandleBad(*file, progress, offset);
}

void RecordFile::ThrowBad(const Progress& progress) {
  throw BadRecordError(path_, *file_, *parser_, lines_, progress,
                       offset_ + progress.at);
}

}  // namespace capstan
