// Where the batches of a step come from. Either each worker reads its own
// input, one element after the other (InputContext, Iterator), or the
// coordinator says which examples each step reads (DataRanges):
//
//   DataRanges ranges({.examples = 60'000, .batch = 64, .shuffle = true});
//   while (ranges.epoch() < 10) {
//     while (auto range = ranges.Next()) {
//       coordinator.Schedule(step, *std::move(range));
//     }
//     coordinator.Join();
//   }
//
// The first works as in tf.data: when a worker is lost, so is its position in
// the input. The second uses every example once per epoch, whichever tasks die.
//
// Either way, the input is described by a Dataset, a pipeline with the names
// and meanings of tf.data:
//
//   Dataset train = Dataset::Csv("day_*.tsv", CsvOptions::Criteo(100'000))
//                       .Shard(input)
//                       .Shuffle(10'000, {.seed = 1})
//                       .Batch(512)
//                       .Prefetch(2);
//   Iterator<Example> batches(train.Open());
//   Tensor ids = batches.Next()["ids"];  // i64 [512, 26]
//
// See docs/data.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan {

// What a worker is told when its input pipeline is created: how many pipelines
// there are, one per worker of the job, and which of them this is, in the order
// of the workers' indices. When workers join or leave, all datasets are created
// again with new contexts; docs/data.md says what that means. A value.
struct CAPSTAN_EXPORT InputContext {
  int num_input_pipelines = 1;
  int input_pipeline_id = 0;  // from 0
  int num_replicas_in_sync = 1;

  // global / num_replicas_in_sync. Throws kInvalidArgument unless both are at
  // least 1 and the division is exact.
  std::int64_t PerReplicaBatchSize(std::int64_t global) const;

  bool operator==(const InputContext&) const = default;
};

// The elements of a dataset, one after the other.
//
// Thread-safe: several steps of one worker may share it. The source need not
// be: one thread calls it at a time, and the others wait.
template <typename T>
class Iterator {
 public:
  // Returns the next element, or nullopt at the end, which is final. Must not
  // call the iterator that reads from it.
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

  // The next element; nullopt at the end, and on every later call: a source
  // that has ended is not called again, and is destroyed. What the source
  // throws passes through; the iterator stays usable, and the next call asks
  // again.
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

  // Like TryNext, but throws kOutOfRange at the end, and on every later call.
  T Next() {
    std::optional<T> element = TryNext();
    if (!element) {
      throw Error(ErrorCode::kOutOfRange,
                  "the dataset has ended after " + std::to_string(position()) +
                      " elements: repeat it, or use TryNext");
    }
    return *std::move(element);
  }

  // How many elements were returned. Never waits for the source.
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
  // Each epoch has the same ranges in a different order, which is a function of
  // the seed and the epoch. The examples in a range stay together and in order.
  bool shuffle = false;
  std::uint64_t seed = 0;
  // If `batch` does not divide `examples`, the remainder is a shorter range;
  // or, with this set, it is not read in any epoch.
  bool drop_remainder = false;
};

class RangeLedger;

// One range that was handed out, until its examples have been used. If the
// ticket is destroyed before that, the range goes back to its DataRanges, if
// that still exists, and is handed out again. So the ticket is kept with the
// work, and whatever ends the work without success returns the range.
//
// Move-only. Not thread-safe, but the tickets of one DataRanges may be used by
// different threads at the same time. Nothing here throws.
class CAPSTAN_EXPORT DataTicket {
 public:
  // A moved-from ticket keeps its range(), but returns nothing when it is
  // destroyed. A ticket that is assigned to first returns its own range.
  DataTicket(DataTicket&& other) noexcept;
  DataTicket& operator=(DataTicket&& other) noexcept;
  ~DataTicket();

  const DataRange& range() const noexcept { return range_; }

  // The examples have been used: the range will not be handed out again.
  // Idempotent. Has no effect if the DataRanges has been destroyed, or was
  // restored since this ticket was handed out.
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

// For the coordinator: cuts an input of a known number of examples into ranges,
// and hands out each once per epoch; again only if it was returned. It stores
// no list of the ranges: 10^9 of them take no more memory than 10, except for
// those that are out or were returned.
//
// Thread-safe, except for moves. A moved-from object may only be assigned to or
// destroyed.
class CAPSTAN_EXPORT DataRanges {
 public:
  // Starts at the beginning of epoch 0. Throws kInvalidArgument, naming the
  // field, if `examples` is negative or `batch` less than 1.
  explicit DataRanges(const DataRangesOptions& options);
  DataRanges(DataRanges&&) noexcept;
  DataRanges& operator=(DataRanges&&) noexcept;
  ~DataRanges();

  // The next range, or nullopt at the end of an epoch, once: the next call
  // begins the next epoch. Ranges that were returned are handed out first, with
  // their own epoch and index, even if the end of their epoch was announced.
  // Never waits: at the end, ranges of the epoch may still be out.
  std::optional<DataTicket> Next();

  // The epoch of the next ranges, which is also the number of epochs whose end
  // was announced.
  std::uint64_t epoch() const;

  // How many ranges an epoch has; 0 for an empty input, for which every Next is
  // the end of an epoch.
  std::uint64_t steps_per_epoch() const;

  // How many ranges are out: neither done nor returned.
  std::size_t outstanding() const;

  // The position, that is, which ranges are done, as one line of printable
  // text: about 100 bytes, and a few for each range that is out or was
  // returned. Those count as not done, so they are handed out again after the
  // position is restored.
  std::string Save() const;

  // Goes to a position that Save returned, in this or another process. Tickets
  // that are out no longer have any effect. Throws, with nothing changed,
  // kInvalidArgument for a text that is not a position, and kFailedPrecondition
  // for one with other options, naming both.
  void Restore(std::string_view position);

 private:
  // Shared because tickets may outlive this object: they hold it weakly.
  std::shared_ptr<RangeLedger> ledger_;
};

// Implementation of Example and Dataset: not for users.
struct Block;
class Recipe;
class Table;

// Named tensors: one example or, after Batch, many of them along a first axis.
//
// A handle, cheap to copy, and immutable: the tensors that it returns share its
// memory and must not be written to. Thread-safe.
class CAPSTAN_EXPORT Example {
 public:
  using Columns = std::vector<std::pair<std::string, Tensor>>;

  Example();  // without any tensors
  // Holds these tensors, whose memory it shares. Throws kInvalidArgument for a
  // duplicate name.
  Example(std::initializer_list<std::pair<std::string, Tensor>> columns);
  explicit Example(const Columns& columns);

  // The tensor of that name; nothing is copied. Throws kNotFound, listing the
  // names that exist.
  Tensor operator[](std::string_view name) const;
  bool Contains(std::string_view name) const noexcept;

  // How many tensors there are, and their names, in the order of the source.
  std::size_t size() const noexcept;
  std::vector<std::string> names() const;

  // The same names in the same order, with equal tensors.
  friend CAPSTAN_EXPORT bool operator==(const Example& a, const Example& b);

  // For the pipeline.
  Example(std::shared_ptr<const Block> block, std::int64_t row) noexcept;
  const std::shared_ptr<const Block>& block() const noexcept { return block_; }
  std::int64_t row() const noexcept { return row_; }

 private:
  std::shared_ptr<const Block> block_;  // never null
  std::int64_t row_;
};

// What a source does with a record that it cannot read: it throws, naming the
// file, the line or byte, the column and the reason; or it skips and counts the
// record. Either way, reading can continue after the record or, if its end
// cannot be found, with the next file. A handle: copies share one count.
// Thread-safe.
class CAPSTAN_EXPORT BadRecords {
 public:
  BadRecords() = default;  // Stop()
  static BadRecords Stop() { return {}; }
  static BadRecords Skip();

  bool skips() const noexcept { return skipped_ != nullptr; }
  // How many were skipped, by all sources that were given this handle.
  std::int64_t skipped() const noexcept;

  // For the sources.
  void Count() const noexcept;

 private:
  std::shared_ptr<std::atomic<std::int64_t>> skipped_;
};

// One column of a CSV file: what it is, and which tensor it goes to.
struct CAPSTAN_EXPORT CsvColumn {
  enum class Kind {
    kIgnored,
    kFloat,       // f32
    kInteger,     // i64
    kHash,        // i64: XXH3_64bits_withSeed(the bytes, seed) mod buckets
    kVocabulary,  // i64: the place in the vocabulary
  };

  // As in the header of the file. Without a header, columns are identified by
  // their position, and the name is that of the tensor.
  std::string name = {};
  Kind kind = Kind::kFloat;
  // The tensor of which this column becomes an element, with the other columns
  // of that output in the order in which they are listed: [k]. Empty: a scalar
  // named `name`.
  std::string output = {};

  // For numbers: the value of an empty field, before the transformations below.
  // Without it, an empty field makes the record bad.
  std::optional<double> missing = {};
  // kFloat: (x - mean) / stddev; with log1p, x is first replaced by log(1 +
  // max(x, 0)).
  bool log1p = false;
  double mean = 0;
  double stddev = 1;

  // kHash. An empty field is hashed like any other.
  std::int64_t buckets = 0;
  std::uint64_t seed = 0;
  // For kVocabulary: the known values, and the id of any other; without that
  // id, another value makes the record bad.
  std::vector<std::string> vocabulary = {};
  std::optional<std::int64_t> unknown = {};
  // For kHash and kVocabulary: added to the id, so that several columns can
  // share a table.
  std::int64_t offset = 0;
};

struct CAPSTAN_EXPORT CsvOptions {
  char delimiter = ',';
  // Encloses fields that contain delimiters or line ends, as in RFC 4180; a
  // quote inside such a field is doubled. '\0': there are no quotes.
  char quote = '"';
  // The first line of each file has the names of the columns, in any order;
  // columns that are not listed in `columns` are ignored. Without a header,
  // `columns` lists all columns in the order of the file.
  bool header = true;
  // Empty: all columns of the header, each kFloat.
  std::vector<CsvColumn> columns = {};
  BadRecords bad_records = {};

  // Lines end in LF or CRLF; empty ones are skipped.

  // The files of the Criteo click logs: tab-separated, no header, no quotes; a
  // label, 13 numbers, 26 categories, any of which may be empty. Gives "label"
  // (f32 scalar), "dense" (f32 [13]: log(1 + max(x, 0)), 0 if missing) and
  // "ids" (i64 [26]: hashed into `buckets` for each column; the ids of column i
  // start at i * buckets).
  static CsvOptions Criteo(std::int64_t buckets);
};

struct CAPSTAN_EXPORT LibSvmOptions {
  // Dense: "x" is f32 [num_features]. 0: sparse, "ids" (i64) and "values" (f32)
  // with one element per feature of the line. "y", the label, is f32.
  std::int64_t num_features = 0;
  // Whether features are numbered from 1, as is customary, or from 0. Ids count
  // from 0.
  bool one_based = true;
  BadRecords bad_records = {};
};

// A feature of a tf.Example.
struct CAPSTAN_EXPORT TfFeature {
  std::string name = {};
  // kF32 for its float_list, kI64 for its int64_list, kU8 for the one value of
  // its bytes_list.
  DType dtype = DType::kF32;
  // The shape, or nullopt: as many values as there are, [n].
  std::optional<Shape> shape = Shape();
  // The value of every element of a feature that is missing. Without it, a
  // missing feature makes the record bad.
  std::optional<double> missing = {};
};

struct CAPSTAN_EXPORT TfRecordOptions {
  // Records are tf.Examples with at least these features. Empty: each record is
  // "record", u8 [n], whatever its content.
  std::vector<TfFeature> features = {};
  // A longer record is bad.
  std::uint64_t max_record_bytes = std::uint64_t{256} << 20;
  BadRecords bad_records = {};
};

struct CAPSTAN_EXPORT IdxOptions {
  // "x" as f32, divided by 255, instead of u8.
  bool scale = false;
};

struct CAPSTAN_EXPORT ShuffleOptions {
  // Without a seed, every Dataset that Shuffle returns draws its own, so that
  // the iterators of different workers differ, and so do those created later;
  // Fit draws one for the whole training.
  std::optional<std::uint64_t> seed = {};
  // Each iteration, by Repeat or by Open, has a different order.
  bool reshuffle_each_iteration = true;
};
struct CAPSTAN_EXPORT BatchOptions {
  bool drop_remainder = false;
};
struct CAPSTAN_EXPORT PaddedBatchOptions {
  std::map<std::string, double> padding = {};  // by tensor; 0 for the others
  bool drop_remainder = false;
};
struct CAPSTAN_EXPORT MapOptions {
  // How many threads call the function. The elements stay in order.
  int parallel = 1;
};
struct CAPSTAN_EXPORT InterleaveOptions {
  int cycle_length = 2;
  int block_length = 1;
};

// A recipe for a sequence of Examples: where they come from, and what is done
// to them. Nothing is opened until it is read.
//
// An immutable handle, cheap to copy; thread-safe. A moved-from Dataset may
// only be assigned to or destroyed. The functions that are passed to it are
// shared by its copies and by all that read it, and may be called from several
// threads. For a given seed, the elements and their order are the same in every
// run. Memory is bounded: by the buffers that the operations name, and by a few
// hundred records that are read ahead from a file.
//
// Functions that create a Dataset throw kInvalidArgument for invalid counts.
// Functions that read it throw what the user's functions throw, at its place in
// the order, and kNotFound, kDataLoss and the like, naming the file, for files.
class CAPSTAN_EXPORT Dataset {
 public:
  // Returned by Cardinality for an endless dataset.
  static constexpr std::int64_t kInfinite = -1;
  using Source = std::function<std::optional<Example>()>;

  // Files. A pattern is a path in which *, ? and [...] match names, as in a
  // shell; the files are read in the order of their names. Random access (see
  // ExampleTable) scans them once.
  static Dataset Csv(std::string pattern, CsvOptions options = {});
  static Dataset LibSvm(std::string pattern, LibSvmOptions options = {});
  static Dataset TfRecord(std::string pattern, TfRecordOptions options = {});
  // Files that are read into memory as a whole, once for all that read this
  // recipe.
  // IDX, as used by MNIST, plain or compressed with gzip: "x", u8 in the shape
  // of an image, and "y", an i64 scalar; no "y" if `labels` is empty.
  static Dataset Idx(std::string images, std::string labels,
                     IdxOptions options = {});
  // The rows of an array that NumPy has saved, as `name`. The integer types i1,
  // i2 and u2 become i32, and u4 becomes i64.
  static Dataset Npy(std::string path, std::string name);

  // The rows along the first axis of these tensors; throws kInvalidArgument
  // unless all have the same number of rows.
  static Dataset FromTensors(const Example& columns);
  // Each reading calls `make` once, and then calls the function that it
  // returned until that returns nullopt.
  static Dataset FromGenerator(std::function<Source()> make);
  // "value", i64 scalars: begin, begin + step, ..., excluding end.
  static Dataset Range(std::int64_t begin, std::int64_t end,
                       std::int64_t step = 1);

  // Every n-th element, starting with element i.
  Dataset Shard(int n, int i) const;
  Dataset Shard(const InputContext& input) const {
    return Shard(input.num_input_pipelines, input.input_pipeline_id);
  }
  // Each element is drawn from the next `buffer` that have not been drawn. With
  // random access, all elements are permuted, whatever the buffer. A row from a
  // file keeps alive the rows that it was read with: expect 7 times the memory
  // of the rows in the buffer.
  Dataset Shuffle(std::int64_t buffer, ShuffleOptions options = {}) const;
  // `count` times; -1: forever.
  Dataset Repeat(std::int64_t count = -1) const;
  // The tensors of n elements, of equal shapes, stacked along a new first axis.
  Dataset Batch(std::int64_t n, BatchOptions options = {}) const;
  // Like Batch, for tensors of different shapes: each axis is as long as the
  // longest, with padding at its end.
  Dataset PaddedBatch(std::int64_t n, PaddedBatchOptions options = {}) const;
  Dataset Map(std::function<Example(const Example&)> function,
              MapOptions options = {}) const;
  Dataset Filter(std::function<bool(const Example&)> predicate) const;
  Dataset Take(std::int64_t n) const;
  Dataset Skip(std::int64_t n) const;
  // The elements of the datasets that `function` returns, `block_length` from
  // each of `cycle_length` datasets in turn.
  Dataset Interleave(std::function<Dataset(const Example&)> function,
                     InterleaveOptions options = {}) const;
  // Reads up to n elements ahead, in its own thread.
  Dataset Prefetch(std::int64_t n) const;
  // Keeps all elements in memory once they have all been read; the dataset that
  // it caches is not read again.
  Dataset Cache() const;
  // Elements with the tensors of all datasets; ends with the shortest. Reading
  // fails if two have a tensor of the same name.
  static Dataset Zip(const std::vector<Dataset>& datasets);
  Dataset Concatenate(const Dataset& next) const;

  // How many elements there are, if that is known without reading them; for Idx
  // and Npy, reads the beginning of the file, and throws as reading does.
  std::optional<std::int64_t> Cardinality() const;

  // Begins to read: the function that it returns gives the next element, and
  // nullopt at the end. It is for one thread at a time, and may be destroyed at
  // any moment: that waits only for a user's function or a file read that is in
  // progress. The n-th Open of this recipe is the n-th iteration for Shuffle.
  Source Open() const;
  // The iteration `epoch`, from 0, the same for all callers: a Shuffle without
  // a seed uses `seed`.
  Source Open(std::uint64_t epoch, std::uint64_t seed = 0) const;

  // For the pipeline.
  explicit Dataset(std::shared_ptr<const Recipe> recipe);
  const std::shared_ptr<const Recipe>& recipe() const { return recipe_; }

 private:
  std::shared_ptr<const Recipe> recipe_;
};

// The elements of a dataset by their number, for programs that choose which
// elements a step reads. All sources except generators, and all operations
// except Filter, Interleave and an endless Repeat, can be read this way.
// Without Shuffle, the numbers are the positions in the order of Open.
//
// An immutable handle, cheap to copy; thread-safe.
class CAPSTAN_EXPORT ExampleTable {
 public:
  // Throws kFailedPrecondition, naming the operation that prevents reading by
  // number and what to do; also for a source that skips bad records, which
  // would leave gaps in the numbers. Reads the files of Csv, LibSvm and
  // TfRecord once, to find where their records begin; keeps 8 bytes for each
  // record, and keeps the files open.
  static ExampleTable Open(const Dataset& dataset);

  std::int64_t size() const;

  // What the numbers stand for, as far as the sizes of the sources and the
  // operations tell: "Rows(240).Shuffle(seed 7).Batch(8)". If two descriptions
  // differ, the same number may be a different element.
  std::string Describe() const;

  // Element `index` of the iteration `epoch`, on which the order of Shuffle
  // depends: each iteration has every element once. A Shuffle without a seed
  // uses `seed`, so that the numbers mean the same to all callers that pass the
  // same one. Throws kOutOfRange, and what reading throws.
  Example At(std::int64_t index, std::uint64_t epoch = 0,
             std::uint64_t seed = 0) const;

 private:
  explicit ExampleTable(std::shared_ptr<const Table> table);

  std::shared_ptr<const Table> table_;
};

// An ExampleTable that is opened when it is first used, so that a dataset that
// cannot be read by number is not an error until somebody tries. Thread-safe.
class CAPSTAN_EXPORT LazyTable {
 public:
  explicit LazyTable(Dataset dataset) : dataset_(std::move(dataset)) {}

  // Throws as ExampleTable::Open does, on each call until it succeeds.
  ExampleTable Get() const;
  // To read the dataset from its beginning.
  const Dataset& dataset() const noexcept { return dataset_; }

 private:
  Dataset dataset_;

  mutable std::mutex mutex_;
  mutable std::optional<ExampleTable> table_;  // guarded by mutex_
};

// Serializes a tf.Example: f32 as float_list, i64 as int64_list, u8 as one
// value of bytes_list. Throws kInvalidArgument for tensors of other types.
CAPSTAN_EXPORT std::string EncodeTfExample(const Example& example);

// Writes `path` as a TFRecord file of these records, with their checksums.
CAPSTAN_EXPORT void WriteTfRecords(const std::string& path,
                                   std::span<const std::string> records);

}  // namespace capstan
