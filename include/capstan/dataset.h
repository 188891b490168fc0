// Where the batches of a step come from. Either each worker reads an input of
// its own, one element after the other (InputContext, Iterator), or the
// coordinator says which examples each step is to read (DataRanges):
//
//   DataRanges ranges({.examples = 60'000, .batch = 64, .shuffle = true});
//   while (ranges.epoch() < 10) {
//     while (auto range = ranges.Next()) {
//       coordinator.Schedule(step, *std::move(range));
//     }
//     coordinator.Join();
//   }
//
// The first gives what tf.data does: when a worker is lost, so is its place.
// The second uses every example once per epoch, whatever dies. See
// docs/data.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "capstan/error.h"
#include "capstan/export.h"

namespace capstan {

// What a worker is told when its input pipeline is made: how many pipelines
// there are, one per worker, and which of them this is. A value.
struct CAPSTAN_EXPORT InputContext {
  int num_input_pipelines = 1;
  int input_pipeline_id = 0;  // from 0
  int num_replicas_in_sync = 1;

  // global / num_replicas_in_sync. Throws kInvalidArgument unless both are at
  // least 1 and it divides.
  std::int64_t PerReplicaBatchSize(std::int64_t global) const;
};

// The elements of a dataset, one after the other.
//
// Thread-safe: several steps of one worker may share it. The source need not
// be: it is asked by one thread at a time, and the others wait.
template <typename T>
class Iterator {
 public:
  // The next element, or nullopt: the end, for good. Must not call the
  // iterator it is the source of.
  using Source = std::function<std::optional<T>()>;

  // Throws kInvalidArgument if `source` is empty.
  explicit Iterator(Source source) : source_(std::move(source)) {
    if (!source_) {
      throw Error(ErrorCode::kInvalidArgument,
                  "an iterator needs a source; this one is an empty function");
    }
  }
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  // The next element; nullopt at the end, and ever after: a source that has
  // ended is not asked again, and is destroyed. What the source throws passes
  // through; the iterator stays usable, and the next call asks again.
  std::optional<T> TryNext() {
    const std::lock_guard lock(mutex_);
    if (!source_) return std::nullopt;
    std::optional<T> element = source_();
    if (element) {
      ++position_;
    } else {
      source_ = nullptr;
    }
    return element;
  }

  // As TryNext, but throws kOutOfRange at the end, and ever after.
  T Next() {
    std::optional<T> element = TryNext();
    if (!element) {
      throw Error(ErrorCode::kOutOfRange,
                  "the dataset has ended after " + std::to_string(position()) +
                      " elements: repeat it, or use TryNext");
    }
    return *std::move(element);
  }

  // How many elements were given out. Never waits for the source.
  std::uint64_t position() const noexcept { return position_; }

 private:
  std::atomic<std::uint64_t> position_ = 0;

  std::mutex mutex_;
  Source source_;  // guarded by mutex_; empty after the end
};

// A part of the input, the examples [begin, end), and when it is read.
struct DataRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t epoch = 0;  // from 0
  std::uint64_t index = 0;  // its place in the order of the epoch, from 0

  std::int64_t size() const noexcept { return end - begin; }
  friend bool operator==(const DataRange&, const DataRange&) = default;
};

struct DataRangesOptions {
  std::int64_t examples = 0;  // in the input; they are numbered from 0
  std::int64_t batch = 1;     // examples in a range
  // Each epoch has the same ranges in an order of its own, a function of the
  // seed and the epoch. The examples in a range stay together and in order.
  bool shuffle = false;
  std::uint64_t seed = 0;
  // What is left when `batch` does not divide `examples` is a shorter range;
  // or else it is not read, in any epoch.
  bool drop_remainder = false;
};

class RangeLedger;

// One range that was handed out, until its examples have been used. Destroyed
// before that, it goes back to its DataRanges, if that still lives, and is
// handed out again: so it is kept with the work, and whatever ends the work
// without success returns it.
//
// Move-only. Not thread-safe, but the tickets of one DataRanges may be used by
// different threads at the same time. Nothing here throws.
class CAPSTAN_EXPORT DataTicket {
 public:
  // One that was moved from is nobody's: it keeps its range(), and its end
  // returns nothing. One that is assigned to first gives back its own range.
  DataTicket(DataTicket&& other) noexcept;
  DataTicket& operator=(DataTicket&& other) noexcept;
  ~DataTicket();

  const DataRange& range() const noexcept { return range_; }

  // The examples have been used: the range will not be handed out again.
  // Idempotent. Has no effect if the DataRanges is gone, or was restored since
  // this was handed out.
  void Done() noexcept;

 private:
  friend class DataRanges;
  DataTicket(const std::shared_ptr<RangeLedger>& ledger, std::uint64_t term,
             const DataRange& range) noexcept;
  void GiveBack() noexcept;

  std::weak_ptr<RangeLedger> ledger_;  // none once done, or moved from
  std::uint64_t term_;                 // of the ledger, see range_ledger.h
  DataRange range_;
};

// The coordinator's: cuts an input of a known number of examples into ranges,
// and hands out each once per epoch; again only if it came back. It holds no
// list of the ranges: 10^9 of them take no more memory than 10, but for those
// that are out or back.
//
// Thread-safe, except for moves. One that was moved from may only be assigned
// to or destroyed.
class CAPSTAN_EXPORT DataRanges {
 public:
  // At the start of epoch 0. Throws kInvalidArgument, naming the field, if
  // `examples` is negative or `batch` less than 1.
  explicit DataRanges(const DataRangesOptions& options);
  DataRanges(DataRanges&&) noexcept;
  DataRanges& operator=(DataRanges&&) noexcept;
  ~DataRanges();

  // The next range, or nullopt at the end of an epoch, once: the call after it
  // begins the next epoch. Ranges that came back are handed out first, with
  // their own epoch and index, even if the end of their epoch was announced.
  // Never waits: at the end, ranges of the epoch may still be out.
  std::optional<DataTicket> Next();

  // The epoch of the ranges to come, which is also how many have been
  // announced to be over.
  std::uint64_t epoch() const;

  // How many ranges an epoch has; 0 for an empty input, whose every Next is
  // the end of an epoch.
  std::uint64_t steps_per_epoch() const;

  // How many ranges are out: neither done nor back.
  std::size_t outstanding() const;

  // The position: which ranges are done, in one line of printable text, about
  // 100 bytes and a few for each range that is out or back. Those count as not
  // done, so that whoever restores the position hands them out again.
  std::string Save() const;

  // Goes to a position that Save returned, here or in another process. Tickets
  // that are out have no effect any more. Throws, with nothing changed,
  // kInvalidArgument for a text that is no position, and kFailedPrecondition
  // for one of other options, naming both.
  void Restore(std::string_view position);

 private:
  // Shared because tickets may outlive this object: they hold it weakly.
  std::shared_ptr<RangeLedger> ledger_;
};

}  // namespace capstan
