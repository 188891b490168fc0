// Batch and PaddedBatch, which differ in how they combine rows.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/cat.h"
#include "dataset/operation/gather.h"
#include "dataset/operation/operations.h"

namespace capstan {
namespace {

using Join =
    std::function<std::shared_ptr<const Block>(const std::vector<Run>&)>;

class BatchCursor final : public Cursor {
 public:
  BatchCursor(std::unique_ptr<Cursor> input, std::int64_t n,
              bool drop_remainder, const Join& join, const Iteration& iteration)
      : input_(std::move(input)),
        iteration_(iteration),
        n_(n),
        drop_remainder_(drop_remainder),
        join_(join) {}

  Run Next(std::int64_t /*max*/) override {
    while (rows_ < n_) {
      iteration_.ThrowIfStopped();
      // If this throws, runs_ is kept for the next call.
      Run run = input_->Next(n_ - rows_);
      if (run.size() == 0) break;
      rows_ += run.size();
      Append(std::move(run), runs_);
    }
    const bool whole = rows_ == n_;
    rows_ = 0;
    const std::vector<Run> runs = std::exchange(runs_, {});
    if (runs.empty() || (!whole && drop_remainder_)) return {};
    return {join_(runs), 0, 1};
  }

 private:
  const std::unique_ptr<Cursor> input_;
  const Iteration iteration_;
  const std::int64_t n_;
  const bool drop_remainder_;
  const Join& join_;
  std::vector<Run> runs_;
  std::int64_t rows_ = 0;  // in runs_
};

class BatchTable final : public Table {
 public:
  BatchTable(std::shared_ptr<const Table> input, std::int64_t n,
             std::int64_t size, const Join& join)
      : input_(std::move(input)), n_(n), size_(size), join_(join) {}

  std::int64_t size() const override { return size_; }
  std::string Describe() const override {
    const bool drops = input_->size() % n_ != 0 && size_ == input_->size() / n_;
    return Cat(input_->Describe(), ".Batch(", n_,
               drops ? ", drop_remainder)" : ")");
  }

  void Read(std::span<const std::int64_t> indices, const Order& order,
            std::vector<Run>& out) const override {
    std::vector<std::int64_t> rows;
    std::vector<Run> runs;
    for (const std::int64_t index : indices) {
      const std::int64_t begin = index * n_;
      const std::int64_t size = std::min(n_, input_->size() - begin);
      rows.resize(static_cast<std::size_t>(size));
      for (std::int64_t i = 0; i < size; ++i) {
        rows[static_cast<std::size_t>(i)] = begin + i;
      }
      runs.clear();
      input_->Read(rows, order, runs);
      out.push_back({join_(runs), 0, 1});
    }
  }

 private:
  const std::shared_ptr<const Table> input_;
  const std::int64_t n_;
  const std::int64_t size_;
  const Join& join_;
};

class Batch final : public Recipe {
 public:
  Batch(RecipePtr input, std::int64_t n, bool drop_remainder, Join join)
      : input_(std::move(input)),
        n_(n),
        drop_remainder_(drop_remainder),
        join_(std::move(join)) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<BatchCursor>(input_->Open(iteration), n_,
                                         drop_remainder_, join_, iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    auto input = input_->OpenTable();
    const std::int64_t size = SizeOf(input->size());
    return std::make_shared<BatchTable>(std::move(input), n_, size, join_);
  }
  std::optional<std::int64_t> Cardinality() const override {
    const auto input = input_->Cardinality();
    if (!input || *input == Dataset::kInfinite) return input;
    return SizeOf(*input);
  }

 private:
  std::int64_t SizeOf(std::int64_t rows) const {
    return rows / n_ + (rows % n_ != 0 && !drop_remainder_ ? 1 : 0);
  }

  const RecipePtr input_;
  const std::int64_t n_;
  const bool drop_remainder_;
  const Join join_;
};

}  // namespace

RecipePtr MakeBatch(RecipePtr input, std::int64_t n, BatchOptions options) {
  CheckAtLeast("Batch", n, 1);
  return std::make_shared<Batch>(std::move(input), n, options.drop_remainder,
                                 Gather);
}

RecipePtr MakePaddedBatch(RecipePtr input, std::int64_t n,
                          PaddedBatchOptions options) {
  CheckAtLeast("PaddedBatch", n, 1);
  const bool drop_remainder = options.drop_remainder;
  return std::make_shared<Batch>(
      std::move(input), n, drop_remainder,
      [padding = std::move(options.padding)](const std::vector<Run>& runs) {
        return GatherPadded(runs, padding);
      });
}

}  // namespace capstan
