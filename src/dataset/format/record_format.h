// What record files have in common: they are read front to back, many records
// at a time, or by number after one scan. A RecordFormat defines how to
// interpret the bytes; records.h reads the files.
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

// How far a parser got.
struct Progress {
  enum class Stop {
    kFull,      // there is no room for another record
    kNeedMore,  // the rest is not a whole record; at the end, nothing is left
    kBad,       // the record before `consumed` is bad, and was left out
    kLost,      // like kBad, and where the next one begins is unknown
  };
  std::size_t consumed = 0;  // bytes
  Stop stop = Stop::kNeedMore;

  // If bad.
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string reason = {};
  std::size_t at = 0;  // where the record begins, from the start of the text
};

// Reads one file, all of which may be damaged or malicious. The text that is
// passed to it is followed by a '\n' and 15 more readable bytes; `last` says
// that the text ends where the file does.
class RecordParser {
 public:
  virtual ~RecordParser() = default;

  // Parses what precedes the first record, if the format has that. Called
  // first, with the start of the file, until it needs no more.
  virtual Progress Begin(std::string_view text, bool last) = 0;

  // Whether the file is text, so that errors name the line.
  virtual bool has_lines() const = 0;

  // The columns; after Begin.
  virtual const std::shared_ptr<const Layout>& layout() const = 0;

  // Parses records from the start of `text` into `rows`.
  virtual Progress Parse(std::string_view text, bool last,
                         BlockBuilder& rows) = 0;

  // Appends the starts of the records in `text`, which is at `offset` of the
  // file; never full. After the last call, `starts` has one entry for each
  // record that Parse would find.
  virtual Progress Scan(std::string_view text, bool last, std::uint64_t offset,
                        std::vector<std::uint64_t>& starts) = 0;

  // Another parser for the same file, after Begin, to parse records from
  // anywhere.
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
  // A longer record is a bad one.
  virtual std::uint64_t max_record_bytes() const = 0;
};

// The maximum length of a line.
inline constexpr std::uint64_t kMaxLineBytes = std::uint64_t{16} << 20;

}  // namespace capstan
