#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/operation/operations.h"
#include "dataset/operation/skip.h"
#include "dataset/operation/subset.h"

namespace capstan {
namespace {

class ShardCursor final : public Cursor {
 public:
  ShardCursor(std::unique_ptr<Cursor> input, std::int64_t n, std::int64_t i,
              const Iteration& iteration)
      : input_(std::move(input)), iteration_(iteration), n_(n), left_(i) {}

  Run Next(std::int64_t max) override {
    if (n_ == 1) return input_->Next(max);
    if (!SkipElements(*input_, left_, iteration_)) return {};
    // An element that cannot be read counts as one of the n, too.
    left_ = n_ - 1;
    return input_->Next(1);
  }

 private:
  const std::unique_ptr<Cursor> input_;
  const Iteration iteration_;
  const std::int64_t n_;
  std::int64_t left_;  // to be skipped
};

class Shard final : public Recipe {
 public:
  Shard(RecipePtr input, std::int64_t n, std::int64_t i)
      : input_(std::move(input)), n_(n), i_(i) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<ShardCursor>(input_->Open(iteration), n_, i_,
                                         iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    auto input = input_->OpenTable();
    const std::int64_t size = SizeOf(input->size());
    return MakeSubset(std::move(input), Cat("Shard(", n_, ", ", i_, ")"), size,
                      [n = n_, i = i_](std::int64_t index, const Order&) {
                        return index * n + i;
                      });
  }
  std::optional<std::int64_t> Cardinality() const override {
    const auto input = input_->Cardinality();
    if (!input || *input == Dataset::kInfinite) return input;
    return SizeOf(*input);
  }

 private:
  std::int64_t SizeOf(std::int64_t input) const {
    return input <= i_ ? 0 : (input - i_ - 1) / n_ + 1;
  }

  const RecipePtr input_;
  const std::int64_t n_;
  const std::int64_t i_;
};

}  // namespace

RecipePtr MakeShard(RecipePtr input, std::int64_t n, std::int64_t i) {
  if (n < 1 || i < 0 || i >= n) {
    throw Error(ErrorCode::kInvalidArgument,
                Cat("Shard(", n, ", ", i, "): needs 0 <= i < n"));
  }
  return std::make_shared<Shard>(std::move(input), n, i);
}

}  // namespace capstan
