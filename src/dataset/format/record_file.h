// A file of records, read piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/file/file_system.h"
#include "dataset/format/line_counter.h"
#include "dataset/format/record_format.h"

namespace capstan {

// Not thread-safe. Every failure throws, naming the file.
class RecordFile {
 public:
  // Opens the file and parses what comes before its records.
  RecordFile(std::string path, const RecordFormat& format);

  const std::shared_ptr<const Layout>& layout() const {
    return parser_->layout();
  }

  // Adds records to `rows` until they are full; false: the file has no more.
  // Throws for a bad record, or counts it, as the format specifies; can be
  // called again then.
  bool Read(BlockBuilder& rows);

  // The starts of all records, and the end of the last one. Only right after
  // the constructor.
  std::vector<std::uint64_t> ScanAll();

  // For reading on by number.
  std::unique_ptr<ReadableFile> TakeFile() { return std::move(file_); }
  std::unique_ptr<RecordParser> TakeParser() { return std::move(parser_); }

 private:
  std::string_view text() const {
    return {buffer_.get() + begin_, end_ - begin_};
  }
  void Consume(const Progress& progress);
  // Reads more; false if the record at the front is too long.
  bool Refill();
  // The error for such a record.
  Progress TooLong() const;
  [[noreturn]] void ThrowBad(const Progress& progress);
  // Throws or counts a bad record.
  void HandleBad(const ReadableFile& file, const Progress& progress,
                 std::uint64_t offset);
  // The same, and stops reading.
  void GiveUp(const Progress& progress, std::uint64_t offset);

  const std::string path_;
  const RecordFormat& format_;
  std::unique_ptr<ReadableFile> file_;
  std::unique_ptr<RecordParser> parser_;

  // The bytes [begin_, end_) of the buffer are not parsed yet; they are at
  // offset_ of the file.
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;
  bool last_ = false;  // nothing comes after end_
  LineCounter lines_;
};

// The error of a bad record at `offset`: `path:line: reason`, or `path, byte n:
// reason` if the file has no lines.
Error BadRecordError(const std::string& path, const ReadableFile& file,
                     const RecordParser& parser, LineCounter& lines,
                     const Progress& progress, std::uint64_t offset);

// How many bytes past the end of every text can be read; see RecordParser.
inline constexpr std::size_t kSlack = 16;

}  // namespace capstan
