#include <utility>

#include "base/cat.h"
#include "base/checked_math.h"
#include "capstan/error.h"
#include "dataset/operation/operations.h"

namespace capstan {
namespace {

class ConcatenateCursor final : public Cursor {
 public:
  ConcatenateCursor(std::unique_ptr<Cursor> first, const Recipe& second,
                    const Iteration& iteration)
      : cursor_(std::move(first)), second_(second), iteration_(iteration) {}

  Run Next(std::int64_t max) override {
    Run run = cursor_->Next(max);
    if (run.size() > 0 || in_second_) return run;
    cursor_ = second_.Open(iteration_);
    in_second_ = true;
    return cursor_->Next(max);
  }

 private:
  std::unique_ptr<Cursor> cursor_;
  const Recipe& second_;
  const Iteration iteration_;
  bool in_second_ = false;
};

class ConcatenateTable final : public Table {
 public:
  ConcatenateTable(std::shared_ptr<const Table> first,
                   std::shared_ptr<const Table> second, std::int64_t size)
      : first_(std::move(first)), second_(std::move(second)), size_(size) {}

  std::int64_t size() const override { return size_; }
  std::string Describe() const override {
    return Cat(first_->Describe(), ".Concatenate(", second_->Describe(), ")");
  }

  void Read(std::span<const std::int64_t> indices, const Order& order,
            std::vector<Run>& out) const override {
    const std::int64_t border = first_->size();
    std::vector<std::int64_t> there;
    for (std::size_t i = 0; i < indices.size();) {
      const bool in_first = indices[i] < border;
      there.clear();
      for (; i < indices.size() && (indices[i] < border) == in_first; ++i) {
        there.push_back(in_first ? indices[i] : indices[i] - border);
      }
      (in_first ? first_ : second_)->Read(there, order, out);
    }
  }

 private:
  const std::shared_ptr<const Table> first_;
  const std::shared_ptr<const Table> second_;
  const std::int64_t size_;
};

class Concatenate final : public Recipe {
 public:
  Concatenate(RecipePtr first, RecipePtr second)
      : first_(std::move(first)), second_(std::move(second)) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<ConcatenateCursor>(first_->Open(iteration),
                                               *second_, iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    auto first = first_->OpenTable();
    auto second = second_->OpenTable();
    const auto size = CheckedAdd(first->size(), second->size());
    if (!size) {
      throw Error(ErrorCode::kInvalidArgument,
                  "Concatenate: too many elements");
    }
    return std::make_shared<ConcatenateTable>(std::move(first),
                                              std::move(second), *size);
  }
  std::optional<std::int64_t> Cardinality() const override {
    const auto first = first_->Cardinality();
    const auto second = second_->Cardinality();
    if (first == Dataset::kInfinite || second == Dataset::kInfinite) {
      return Dataset::kInfinite;
    }
    if (!first || !second) return std::nullopt;
    return CheckedAdd(*first, *second);
  }

 private:
  const RecipePtr first_;
  const RecipePtr second_;
};

}  // namespace

RecipePtr MakeConcatenate(RecipePtr first, RecipePtr second) {
  return std::make_shared<Concatenate>(std::move(first), std::move(second));
}

}  // namespace capstan
