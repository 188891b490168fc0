#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "base/error.h"
#include "capstan/error.h"
#include "dataset/format/input_file.h"
#include "dataset/format/record_file.h"
#include "dataset/format/records.h"
#include "dataset/recipe/only_errors.h"

namespace capstan {
namespace {

// One file, and where its records begin.
struct Indexed {
  std::string path;
  std::int64_t first;                 // the number of the file's first record
  std::vector<std::uint64_t> starts;  // one more than there are records
  std::unique_ptr<const ReadableFile> file;
  std::unique_ptr<const RecordParser> parser;

  std::int64_t size() const {
    return static_cast<std::int64_t>(starts.size()) - 1;
  }
};

// Reads records into blocks, starting a new block when the layout changes.
class Gatherer {
 public:
  Gatherer(std::int64_t most, std::vector<Run>& out) : most_(most), out_(out) {}

  // Reads the records [begin, end) of a file, which are contiguous.
  void Read(const Indexed& from, std::size_t begin, std::size_t end) {
    if (rows_ == nullptr || layout_ != from.parser->layout()) {
      Flush();
      layout_ = from.parser->layout();
      rows_ = std::make_unique<BlockBuilder>(layout_, most_);
    }
    const std::uint64_t offset = from.starts[begin];
    const std::size_t size = from.starts[end] - offset;
    text_.resize(size + kSlack);
    const std::size_t got = ValueOrThrow(from.file->ReadAt(
        offset, std::as_writable_bytes(std::span(text_.data(), size))));
    std::fill_n(text_.begin() + static_cast<std::ptrdiff_t>(got), kSlack, '\n');
    const std::unique_ptr<RecordParser> parser = from.parser->Fork();
    std::size_t done = 0;
    for (std::size_t left = end - begin; left > 0;) {
      const std::int64_t before = rows_->rows();
      const Progress progress = parser->Parse(
          std::string_view(text_.data() + done, got - done), true, *rows_);
      if (progress.stop == Progress::Stop::kBad ||
          progress.stop == Progress::Stop::kLost) {
        LineCounter lines;
        throw BadRecordError(from.path, *from.file, *from.parser, lines,
                             progress, offset + done + progress.at);
      }
      const std::int64_t read = rows_->rows() - before;
      if (read == 0 && progress.stop != Progress::Stop::kFull) {
        throw Error(ErrorCode::kDataLoss,
                    from.path + " has changed since it was scanned");
      }
      if (read == 0) Restart();
      done += progress.consumed;
      left -= std::min(left, static_cast<std::size_t>(read));
    }
  }

  void Flush() {
    if (rows_ == nullptr || rows_->rows() == 0) return;
    const std::int64_t size = rows_->rows();
    out_.push_back({rows_->Finish(), 0, size});
    rows_ = nullptr;
  }

 private:
  // Continues in another block: ragged columns may fill one early.
  void Restart() {
    Flush();
    rows_ = std::make_unique<BlockBuilder>(layout_, most_);
  }

  const std::int64_t most_;
  std::vector<Run>& out_;
  std::shared_ptr<const Layout> layout_;
  std::unique_ptr<BlockBuilder> rows_;
  std::vector<char> text_;
};

class RecordTable final : public Table {
 public:
  RecordTable(std::vector<Indexed> files, std::int64_t size)
      : files_(std::move(files)), size_(size) {}

  std::int64_t size() const override { return size_; }
  std::string Describe() const override { return Cat("Rows(", size(), ")"); }

  void Read(std::span<const std::int64_t> indices, const Order& /*order*/,
            std::vector<Run>& out) const override {
    Gatherer gatherer(static_cast<std::int64_t>(indices.size()), out);
    for (std::size_t i = 0; i < indices.size();) {
      const Indexed& file = FileOf(indices[i]);
      const std::int64_t begin = indices[i] - file.first;
      std::int64_t end = begin;
      for (; i < indices.size() && indices[i] == file.first + end &&
             end < file.size();
           ++i) {
        ++end;
      }
      OnlyErrors(file.path, [&] {
        gatherer.Read(file, static_cast<std::size_t>(begin),
                      static_cast<std::size_t>(end));
      });
    }
    gatherer.Flush();
  }

 private:
  const Indexed& FileOf(std::int64_t index) const {
    const auto after = std::upper_bound(
        files_.begin(), files_.end(), index,
        [](std::int64_t at, const Indexed& file) { return at < file.first; });
    return *std::prev(after);
  }

  const std::vector<Indexed> files_;  // those that have records
  const std::int64_t size_;
};

Indexed ScanFile(const std::string& path, std::int64_t first,
                 const RecordFormat& format) {
  RecordFile file(path, format);
  Indexed indexed{.path = path,
                  .first = first,
                  .starts = file.ScanAll(),
                  .file = nullptr,
                  .parser = nullptr};
  indexed.file = file.TakeFile();
  indexed.parser = file.TakeParser();
  return indexed;
}

}  // namespace

std::shared_ptr<const Table> OpenRecordTable(const std::string& pattern,
                                             const RecordFormat& format) {
  std::vector<Indexed> files;
  std::int64_t size = 0;
  for (const std::string& path : ValueOrThrow(MatchFiles(pattern))) {
    Indexed indexed =
        OnlyErrors(path, [&] { return ScanFile(path, size, format); });
    if (indexed.size() == 0) continue;
    size += indexed.size();
    files.push_back(std::move(indexed));
  }
  return std::make_shared<RecordTable>(std::move(files), size);
}

}  // namespace capstan
