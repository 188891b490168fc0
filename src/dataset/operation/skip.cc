#include "dataset/operation/skip.h"

#include <algorithm>
#include <utility>

#include "dataset/operation/operations.h"
#include "dataset/operation/subset.h"

namespace capstan {
namespace {

class SkipCursor final : public Cursor {
 public:
  SkipCursor(std::unique_ptr<Cursor> input, std::int64_t n,
             const Iteration& iteration)
      : input_(std::move(input)), iteration_(iteration), left_(n) {}

  Run Next(std::int64_t max) override {
    if (!SkipElements(*input_, left_, iteration_)) return {};
    return input_->Next(max);
  }

 private:
  const std::unique_ptr<Cursor> input_;
  const Iteration iteration_;
  std::int64_t left_;
};

class Skip final : public Recipe {
 public:
  Skip(RecipePtr input, std::int64_t n) : input_(std::move(input)), n_(n) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<SkipCursor>(input_->Open(iteration), n_, iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    auto input = input_->OpenTable();
    const std::int64_t skipped = std::min(n_, input->size());
    const std::int64_t size = input->size() - skipped;
    return MakeSubset(std::move(input), Cat("Skip(", n_, ")"), size,
                      [skipped](std::int64_t index, const Order&) {
                        return index + skipped;
                      });
  }
  std::optional<std::int64_t> Cardinality() const override {
    const auto input = input_->Cardinality();
    if (!input || *input == Dataset::kInfinite) return input;
    return *input - std::min(n_, *input);
  }

 private:
  const RecipePtr input_;
  const std::int64_t n_;
};

}  // namespace

bool SkipElements(Cursor& cursor, std::int64_t& left,
                  const Iteration& iteration) {
  while (left > 0) {
    iteration.ThrowIfStopped();
    const Run run = cursor.Next(left);
    if (run.size() == 0) return false;
    left -= run.size();
  }
  return true;
}

RecipePtr MakeSkip(RecipePtr input, std::int64_t n) {
  CheckAtLeast("Skip", n, 0);
  return std::make_shared<Skip>(std::move(input), n);
}

}  // namespace capstan
