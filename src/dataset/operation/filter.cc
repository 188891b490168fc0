#include <utility>

#include "capstan/error.h"
#include "dataset/operation/operations.h"

namespace capstan {
namespace {

using Predicate = std::function<bool(const Example&)>;

class FilterCursor final : public Cursor {
 public:
  FilterCursor(std::unique_ptr<Cursor> input, const Predicate& predicate,
               const Iteration& iteration)
      : input_(std::move(input)),
        predicate_(predicate),
        iteration_(iteration) {}

  Run Next(std::int64_t /*max*/) override {
    while (true) {
      iteration_.ThrowIfStopped();
      Run run = input_->Next(1);
      if (run.size() == 0 || predicate_(Example(run.block, run.begin))) {
        return run;
      }
    }
  }

 private:
  const std::unique_ptr<Cursor> input_;
  const Predicate& predicate_;
  const Iteration iteration_;
};

class Filter final : public Recipe {
 public:
  Filter(RecipePtr input, Predicate predicate)
      : input_(std::move(input)), predicate_(std::move(predicate)) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<FilterCursor>(input_->Open(iteration), predicate_,
                                          iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    ThrowNoTable("Filter",
                 "which elements it keeps is known when all are read");
  }
  std::optional<std::int64_t> Cardinality() const override {
    return std::nullopt;
  }

 private:
  const RecipePtr input_;
  const Predicate predicate_;
};

}  // namespace

RecipePtr MakeFilter(RecipePtr input, Predicate predicate) {
  if (!predicate) {
    throw Error(ErrorCode::kInvalidArgument, "Filter: the function is empty");
  }
  return std::make_shared<Filter>(std::move(input), std::move(predicate));
}

}  // namespace capstan
