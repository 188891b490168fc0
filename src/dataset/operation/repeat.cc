#include <utility>

#include "base/cat.h"
#include "base/checked_math.h"
#include "capstan/error.h"
#include "dataset/operation/operations.h"

namespace capstan {
namespace {

constexpr std::int64_t kForever = -1;

// The iteration of the input that is the `turn`-th repetition in `epoch`.
std::uint64_t EpochOf(std::uint64_t epoch, std::int64_t count,
                      std::uint64_t turn) {
  if (count == kForever) return (epoch << 32) + turn;
  return epoch * static_cast<std::uint64_t>(count) + turn;
}

class RepeatCursor final : public Cursor {
 public:
  RepeatCursor(const Recipe& input, std::int64_t count,
               const Iteration& iteration)
      : input_(input), count_(count), iteration_(iteration) {}

  Run Next(std::int64_t max) override {
    while (!ended_) {
      if (cursor_ == nullptr) {
        if (count_ != kForever && turn_ == static_cast<std::uint64_t>(count_)) {
          break;
        }
        Iteration turn = iteration_;
        turn.epoch = EpochOf(turn.epoch, count_, turn_++);
        cursor_ = input_.Open(turn);
        empty_ = true;
      }
      Run run = cursor_->Next(max);
      if (run.size() > 0) {
        empty_ = false;
        return run;
      }
      cursor_ = nullptr;
      // An input without elements stays empty however often it is repeated.
      ended_ = empty_;
    }
    return {};
  }

 private:
  const Recipe& input_;
  const std::int64_t count_;
  const Iteration iteration_;
  std::uint64_t turn_ = 0;
  std::unique_ptr<Cursor> cursor_;
  bool empty_ = true;  // no elements in this turn so far
  bool ended_ = false;
};

class RepeatTable final : public Table {
 public:
  RepeatTable(std::shared_ptr<const Table> input, std::int64_t count,
              std::int64_t size)
      : input_(std::move(input)), count_(count), size_(size) {}

  std::int64_t size() const override { return size_; }
  std::string Describe() const override {
    return Cat(input_->Describe(), ".Repeat(", count_, ")");
  }

  void Read(std::span<const std::int64_t> indices, const Order& order,
            std::vector<Run>& out) const override {
    std::vector<std::int64_t> there;
    for (std::size_t i = 0; i < indices.size();) {
      const std::int64_t turn = indices[i] / input_->size();
      there.clear();
      for (; i < indices.size() && indices[i] / input_->size() == turn; ++i) {
        there.push_back(indices[i] % input_->size());
      }
      Order inner = order;
      inner.epoch =
          EpochOf(order.epoch, count_, static_cast<std::uint64_t>(turn));
      input_->Read(there, inner, out);
    }
  }

 private:
  const std::shared_ptr<const Table> input_;
  const std::int64_t count_;
  const std::int64_t size_;
};

class Repeat final : public Recipe {
 public:
  Repeat(RecipePtr input, std::int64_t count)
      : input_(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<RepeatCursor>(*input_, count_, iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    if (count_ == kForever) {
      ThrowNoTable("Repeat without a count", "it has no end");
    }
    auto input = input_->OpenTable();
    const auto size = CheckedMul(input->size(), count_);
    if (!size) {
      throw Error(ErrorCode::kInvalidArgument, "Repeat: too many elements");
    }
    return std::make_shared<RepeatTable>(std::move(input), count_, *size);
  }
  std::optional<std::int64_t> Cardinality() const override {
    if (count_ == 0) return 0;
    const auto input = input_->Cardinality();
    if (!input || *input <= 0) return input;
    if (count_ == kForever) return Dataset::kInfinite;
    return CheckedMul(*input, count_);
  }

 private:
  const RecipePtr input_;
  const std::int64_t count_;
};

}  // namespace

RecipePtr MakeRepeat(RecipePtr input, std::int64_t count) {
  CheckAtLeast("Repeat", count, kForever);
  return std::make_shared<Repeat>(std::move(input), count);
}

}  // namespace capstan
