// What files of records have in common: they are read front to back, many
// records at a time, or after one scan by number. How the bytes are to be
// understood is a RecordFormat's; records.h reads the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/dataset.h"
#include "capstan/error.h"
#include "dataset/recipe/block_builder.h"

namespace capstan {

// How far a parser came.
struct Progress {
  enum class Stop {
    kFull,      // there is no room for another record
    kNeedMore,  // what is left is no whole record; at the end, nothing is left
    kBad,       // the record before `consumed` is bad, and was left out
    kLost,      // as kBad, and where the next one begins is unknown
  };
  std::size_t consumed = 0;  // bytes
  Stop stop = Stop::kNeedMore;

  // If bad.
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string reason = {};
  std::size_t at = 0;  // where the record begins, from the start of the text
};

// Reads one file. All that is in it may be damaged or made by an enemy. The
// text that is passed to it is followed by a '\n' and 15 bytes more that can be
// read; `last` says that it ends where the file does.
class RecordParser {
 public:
  virtual ~RecordParser() = default;

  // What comes before the first record, if that is a part of the format. At
  // first called with the start of the file, until it does not need more.
  virtual Progress Begin(std::string_view text, bool last) = 0;

  // Whether the file is text, of which errors name the line.
  virtual bool has_lines() const = 0;

  // The columns; after Begin.
  virtual const std::shared_ptr<const Layout>& layout() const = 0;

  // Parses records from the start of `text` into `rows`.
  virtual Progress Parse(std::string_view text, bool last,
                         BlockBuilder& rows) = 0;

  // Appends where the records of `text`, which itself is at `offset` of the
  // file, begin; never full. After the last call, `starts` has one for each
  // record that Parse would find.
  virtual Progress Scan(std::string_view text, bool last, std::uint64_t offset,
                        std::vector<std::uint64_t>& starts) = 0;

  // Another one for the same file, after Begin, to parse records from anywhere.
  virtual std::unique_ptr<RecordParser> Fork() const = 0;
};

// Immutable; thread-safe.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // "Csv", for messages.
  virtual std::string_view name() const = 0;
  virtual std::unique_ptr<RecordParser> NewParser() const = 0;
  virtual const BadRecords& bad_records() const = 0;
  // A record that is longer is a bad one.
  virtual std::uint64_t max_record_bytes() const = 0;
};

// The greatest length of a line.
inline constexpr std::uint64_t kMaxLineBytes = std::uint64_t{16} << 20;

}  // namespace capstan
