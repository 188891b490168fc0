#include <algorithm>
#include <atomic>
#include <utility>

#include "base/cat.h"
#include "base/random.h"
#include "dataset/operation/operations.h"
#include "dataset/operation/subset.h"
#include "dataset/recipe/shuffle.h"

namespace capstan {
namespace {

class ShuffleCursor final : public Cursor {
 public:
  ShuffleCursor(std::unique_ptr<Cursor> input, std::int64_t buffer,
                Random random, const Iteration& iteration)
      : input_(std::move(input)),
        iteration_(iteration),
        wanted_(buffer),
        random_(random) {}

  Run Next(std::int64_t /*max*/) override {
    Fill();
    if (buffer_.empty()) return {};
    std::swap(buffer_[random_.Below(buffer_.size())], buffer_.back());
    Row row = std::move(buffer_.back());
    buffer_.pop_back();
    return {std::move(row.block), row.index, row.index + 1};
  }

 private:
  struct Row {
    std::shared_ptr<const Block> block;
    std::int64_t index;
  };

  void Fill() {
    while (!ended_) {
      iteration_.ThrowIfStopped();
      const std::int64_t free =
          wanted_ - static_cast<std::int64_t>(buffer_.size());
      if (free == 0) return;
      Run run = input_->Next(free);
      ended_ = run.size() == 0;
      for (std::int64_t i = run.begin; i < run.end; ++i) {
        const bool is_last = i + 1 == run.end;
        buffer_.push_back({is_last ? std::move(run.block) : run.block, i});
      }
    }
  }

  const std::unique_ptr<Cursor> input_;
  const Iteration iteration_;
  const std::int64_t wanted_;
  Random random_;
  std::vector<Row> buffer_;
  bool ended_ = false;
};

class Shuffle final : public Recipe {
 public:
  Shuffle(RecipePtr input, std::int64_t buffer, ShuffleOptions options)
      : input_(std::move(input)),
        buffer_(buffer),
        options_(options),
        drawn_(options.seed ? *options.seed : Random::FromOs().NextU64()) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<ShuffleCursor>(input_->Open(iteration), buffer_,
                                           OrderOf(iteration), iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    auto input = input_->OpenTable();
    const std::int64_t size = input->size();
    std::string how = options_.seed ? Cat("seed ", *options_.seed) : "";
    if (!options_.reshuffle_each_iteration) {
      how += how.empty() ? "once" : ", once";
    }
    return MakeSubset(
        std::move(input), Cat("Shuffle(", how, ")"), size,
        [this, size](std::int64_t index, const Order& order) {
          return static_cast<std::int64_t>(
              ShuffledAt(options_.seed.value_or(order.seed),
                         EpochOf(order.epoch), static_cast<std::uint64_t>(size),
                         static_cast<std::uint64_t>(index)));
        });
  }
  std::optional<std::int64_t> Cardinality() const override {
    return input_->Cardinality();
  }

 private:
  Random OrderOf(const Iteration& iteration) const {
    if (options_.seed) return Random(*options_.seed, EpochOf(iteration.epoch));
    if (iteration.seed) {
      return Random(*iteration.seed, EpochOf(iteration.epoch));
    }
    // Several datasets may be built on this one, and have the same iterations.
    return Random(drawn_, EpochOf(opened_++));
  }
  std::uint64_t EpochOf(std::uint64_t epoch) const {
    return options_.reshuffle_each_iteration ? epoch : 0;
  }

  const RecipePtr input_;
  const std::int64_t buffer_;
  const ShuffleOptions options_;
  // For readings without a given seed, and how many there were.
  const std::uint64_t drawn_;
  mutable std::atomic<std::uint64_t> opened_ = 0;
};

}  // namespace

RecipePtr MakeShuffle(RecipePtr input, std::int64_t buffer,
                      ShuffleOptions options) {
  CheckAtLeast("Shuffle", buffer, 1);
  return std::make_shared<Shuffle>(std::move(input), buffer, options);
}

}  // namespace capstan
