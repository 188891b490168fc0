#include <algorithm>
#include <utility>

#include "dataset/operation/operations.h"
#include "dataset/operation/subset.h"

namespace capstan {
namespace {

class TakeCursor final : public Cursor {
 public:
  TakeCursor(std::unique_ptr<Cursor> input, std::int64_t n)
      : input_(std::move(input)), left_(n) {}

  Run Next(std::int64_t max) override {
    if (left_ == 0) return {};
    Run run = input_->Next(std::min(max, left_));
    left_ -= run.size();
    return run;
  }

 private:
  const std::unique_ptr<Cursor> input_;
  std::int64_t left_;
};

class Take final : public Recipe {
 public:
  Take(RecipePtr input, std::int64_t n) : input_(std::move(input)), n_(n) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<TakeCursor>(input_->Open(iteration), n_);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    auto input = input_->OpenTable();
    const std::int64_t size = std::min(n_, input->size());
    return MakeSubset(std::move(input), Cat("Take(", n_, ")"), size,
                      [](std::int64_t index, const Order&) { return index; });
  }
  std::optional<std::int64_t> Cardinality() const override {
    const auto input = input_->Cardinality();
    if (!input) return n_ == 0 ? std::optional(n_) : std::nullopt;
    return *input == Dataset::kInfinite ? n_ : std::min(n_, *input);
  }

 private:
  const RecipePtr input_;
  const std::int64_t n_;
};

}  // namespace

RecipePtr MakeTake(RecipePtr input, std::int64_t n) {
  CheckAtLeast("Take", n, 0);
  return std::make_shared<Take>(std::move(input), n);
}

}  // namespace capstan
