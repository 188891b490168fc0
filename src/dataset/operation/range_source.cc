#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/operation/operations.h"

namespace capstan {
namespace {

// How many numbers a block has.
constexpr std::int64_t kChunk = 512;

std::shared_ptr<const Layout> ValueLayout() {
  return std::make_shared<const Layout>(
      Layout{{"value", DType::kI64, Shape(), false}});
}

std::uint64_t CountOf(std::int64_t begin, std::int64_t end, std::int64_t step) {
  // Unsigned, because the distance may exceed the signed range.
  const auto from = static_cast<std::uint64_t>(begin);
  const auto to = static_cast<std::uint64_t>(end);
  const auto by = static_cast<std::uint64_t>(step);
  if (step > 0) return begin < end ? (to - from - 1) / by + 1 : 0;
  return begin > end ? (from - to - 1) / (0 - by) + 1 : 0;
}

class Numbers final : public Table {
 public:
  Numbers(std::int64_t begin, std::int64_t step, std::int64_t count)
      : begin_(begin), step_(step), count_(count), layout_(ValueLayout()) {}

  std::int64_t size() const override { return count_; }
  std::string Describe() const override { return Cat("Rows(", size(), ")"); }

  void Read(std::span<const std::int64_t> indices, const Order& /*order*/,
            std::vector<Run>& out) const override {
    if (indices.empty()) return;
    const auto size = static_cast<std::int64_t>(indices.size());
    Tensor values = Tensor::Uninitialized(DType::kI64, {size});
    std::transform(indices.begin(), indices.end(),
                   values.MutableValues<std::int64_t>().begin(),
                   [&](std::int64_t index) { return ValueAt(index); });
    auto block = std::make_shared<Block>(*RowsOf({{"value", values}}));
    block->layout = layout_;
    out.push_back({std::move(block), 0, size});
  }

 private:
  std::int64_t ValueAt(std::int64_t index) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(begin_) +
                                     static_cast<std::uint64_t>(index) *
                                         static_cast<std::uint64_t>(step_));
  }

  const std::int64_t begin_;
  const std::int64_t step_;
  const std::int64_t count_;
  const std::shared_ptr<const Layout> layout_;
};

class Counting final : public Cursor {
 public:
  explicit Counting(std::shared_ptr<const Numbers> numbers)
      : numbers_(std::move(numbers)) {}

  Run Next(std::int64_t max) override {
    if (run_.size() == 0) {
      const std::int64_t size = std::min(kChunk, numbers_->size() - at_);
      if (size == 0) return {};
      std::vector<std::int64_t> indices(static_cast<std::size_t>(size));
      for (std::int64_t& index : indices) index = at_++;
      std::vector<Run> runs;
      numbers_->Read(indices, {}, runs);
      run_ = std::move(runs.front());
    }
    Run taken = run_;
    taken.end = std::min(taken.end, taken.begin + max);
    run_.begin = taken.end;
    return taken;
  }

 private:
  const std::shared_ptr<const Numbers> numbers_;
  std::int64_t at_ = 0;
  Run run_;  // computed and not yet returned
};

class RangeSource final : public Recipe {
 public:
  explicit RangeSource(std::shared_ptr<const Numbers> numbers)
      : numbers_(std::move(numbers)) {}

  std::unique_ptr<Cursor> Open(const Iteration& /*iteration*/) const override {
    return std::make_unique<Counting>(numbers_);
  }
  std::shared_ptr<const Table> OpenTable() const override { return numbers_; }
  std::optional<std::int64_t> Cardinality() const override {
    return numbers_->size();
  }

 private:
  const std::shared_ptr<const Numbers> numbers_;
};

}  // namespace

RecipePtr MakeRange(std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step == 0) {
    throw Error(ErrorCode::kInvalidArgument, "Range: the step must not be 0");
  }
  const std::uint64_t count = CountOf(begin, end, step);
  if (count > INT64_MAX) {
    throw Error(ErrorCode::kInvalidArgument, "Range: too many numbers");
  }
  return std::make_shared<RangeSource>(std::make_shared<const Numbers>(
      begin, step, static_cast<std::int64_t>(count)));
}

}  // namespace capstan
