#include "dataset/format/block_source.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "dataset/format/sources.h"

namespace capstan {
namespace {

class BlockCursor final : public Cursor {
 public:
  explicit BlockCursor(std::shared_ptr<const Block> block)
      : block_(std::move(block)) {}

  Run Next(std::int64_t max) override {
    if (at_ == block_->rows) return {};
    const std::int64_t begin = at_;
    at_ += std::min(max, block_->rows - at_);
    return {block_, begin, at_};
  }

 private:
  const std::shared_ptr<const Block> block_;
  std::int64_t at_ = 0;
};

class BlockTable final : public Table {
 public:
  explicit BlockTable(std::shared_ptr<const Block> block)
      : block_(std::move(block)) {}

  std::int64_t size() const override { return block_->rows; }
  std::string Describe() const override { return Cat("Rows(", size(), ")"); }

  void Read(std::span<const std::int64_t> indices, const Order& /*order*/,
            std::vector<Run>& out) const override {
    for (const std::int64_t index : indices) {
      if (!out.empty() && out.back().block == block_ &&
          out.back().end == index) {
        ++out.back().end;
      } else {
        out.push_back({block_, index, index + 1});
      }
    }
  }

 private:
  const std::shared_ptr<const Block> block_;
};

class TensorsSource final : public Recipe {
 public:
  explicit TensorsSource(std::shared_ptr<const Block> rows)
      : rows_(std::move(rows)) {}

  std::unique_ptr<Cursor> Open(const Iteration& /*iteration*/) const override {
    return OpenBlock(rows_);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    return OpenBlockTable(rows_);
  }
  std::optional<std::int64_t> Cardinality() const override {
    return rows_->rows;
  }

 private:
  const std::shared_ptr<const Block> rows_;
};

}  // namespace

std::unique_ptr<Cursor> OpenBlock(std::shared_ptr<const Block> block) {
  return std::make_unique<BlockCursor>(std::move(block));
}

std::shared_ptr<const Table> OpenBlockTable(
    std::shared_ptr<const Block> block) {
  return std::make_shared<BlockTable>(std::move(block));
}

RecipePtr MakeTensors(std::shared_ptr<const Block> rows) {
  return std::make_shared<TensorsSource>(std::move(rows));
}

}  // namespace capstan
