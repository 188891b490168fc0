#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/operation/operations.h"
#include "dataset/recipe/quote_text.h"

namespace capstan {
namespace {

// Joins the columns of several runs of equal length, side by side. Caches the
// last layout made, because most runs of a dataset have the same. For one
// thread at a time.
class Zipper {
 public:
  Run Join(const std::vector<Run>& runs) {
    auto block = std::make_shared<Block>();
    block->layout = LayoutOf(runs);
    block->rows = runs.front().size();
    auto parts = std::make_shared<std::vector<std::shared_ptr<const Block>>>();
    for (const Run& run : runs) {
      const auto begin = static_cast<std::size_t>(run.begin);
      for (ColumnData column : run.block->columns) {
        if (column.offsets != nullptr) {
          column.offsets += begin;
        } else if (column.data != nullptr) {
          column.data += begin * column.row_bytes;
        }
        block->columns.push_back(std::move(column));
      }
      parts->push_back(run.block);
    }
    // The parts own the offsets of ragged columns.
    block->keep_alive = std::move(parts);
    const std::int64_t rows = block->rows;
    return {std::move(block), 0, rows};
  }

 private:
  std::shared_ptr<const Layout> LayoutOf(const std::vector<Run>& runs) {
    const bool same =
        layout_ != nullptr &&
        std::equal(runs.begin(), runs.end(), parts_.begin(), parts_.end(),
                   [](const Run& run, const auto& part) {
                     return run.block->layout == part;
                   });
    if (same) return layout_;
    auto layout = std::make_shared<Layout>();
    parts_.clear();
    for (const Run& run : runs) {
      for (const Field& field : *run.block->layout) {
        if (FindField(*layout, field.name) >= 0) {
          throw Error(ErrorCode::kInvalidArgument,
                      Cat("Zip: two of the datasets have ",
                          QuoteText(field.name), ": rename one with Map"));
        }
        layout->push_back(field);
      }
      parts_.push_back(run.block->layout);
    }
    layout_ = std::move(layout);
    return layout_;
  }

  std::vector<std::shared_ptr<const Layout>> parts_;
  std::shared_ptr<const Layout> layout_;
};

// Takes the next rows that all of `fronts` have, at most `max`.
Run TakeTogether(std::vector<Run>& fronts, std::int64_t max, Zipper& zipper) {
  std::int64_t size = max;
  for (const Run& run : fronts) size = std::min(size, run.size());
  std::vector<Run> taken = fronts;
  for (std::size_t i = 0; i < fronts.size(); ++i) {
    taken[i].end = taken[i].begin + size;
    fronts[i].begin += size;
  }
  return zipper.Join(taken);
}

class ZipCursor final : public Cursor {
 public:
  explicit ZipCursor(std::vector<std::unique_ptr<Cursor>> inputs)
      : inputs_(std::move(inputs)), fronts_(inputs_.size()) {}

  Run Next(std::int64_t max) override {
    for (std::size_t i = 0; i < inputs_.size() && !ended_; ++i) {
      if (fronts_[i].size() == 0) fronts_[i] = inputs_[i]->Next(max);
      ended_ = fronts_[i].size() == 0;
    }
    if (ended_) return {};
    return TakeTogether(fronts_, max, zipper_);
  }

 private:
  const std::vector<std::unique_ptr<Cursor>> inputs_;
  std::vector<Run> fronts_;  // read and not yet returned
  Zipper zipper_;
  bool ended_ = false;
};

class ZipTable final : public Table {
 public:
  explicit ZipTable(std::vector<std::shared_ptr<const Table>> inputs)
      : inputs_(std::move(inputs)), size_(INT64_MAX) {
    for (const auto& input : inputs_) size_ = std::min(size_, input->size());
  }

  std::int64_t size() const override { return size_; }
  std::string Describe() const override {
    std::string text = "Zip({";
    for (const auto& input : inputs_) {
      absl::StrAppend(&text, text.back() == '{' ? "" : ", ", input->Describe());
    }
    return text + "})";
  }

  void Read(std::span<const std::int64_t> indices, const Order& order,
            std::vector<Run>& out) const override {
    std::vector<std::vector<Run>> all(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i]->Read(indices, order, all[i]);
    }
    Zipper zipper;
    std::vector<std::size_t> places(inputs_.size(), 0);
    std::vector<Run> fronts(inputs_.size());
    for (auto left = static_cast<std::int64_t>(indices.size()); left > 0;) {
      for (std::size_t i = 0; i < fronts.size(); ++i) {
        if (fronts[i].size() == 0) fronts[i] = all[i][places[i]++];
      }
      out.push_back(TakeTogether(fronts, left, zipper));
      left -= out.back().size();
    }
  }

 private:
  const std::vector<std::shared_ptr<const Table>> inputs_;
  std::int64_t size_;
};

class Zip final : public Recipe {
 public:
  explicit Zip(std::vector<RecipePtr> inputs) : inputs_(std::move(inputs)) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    std::vector<std::unique_ptr<Cursor>> cursors;
    for (const RecipePtr& input : inputs_) {
      cursors.push_back(input->Open(iteration));
    }
    return std::make_unique<ZipCursor>(std::move(cursors));
  }
  std::shared_ptr<const Table> OpenTable() const override {
    std::vector<std::shared_ptr<const Table>> tables;
    for (const RecipePtr& input : inputs_) {
      tables.push_back(input->OpenTable());
    }
    return std::make_shared<ZipTable>(std::move(tables));
  }
  std::optional<std::int64_t> Cardinality() const override {
    std::int64_t least = Dataset::kInfinite;
    for (const RecipePtr& input : inputs_) {
      const auto size = input->Cardinality();
      if (!size) return std::nullopt;
      if (*size == Dataset::kInfinite) continue;
      least = least == Dataset::kInfinite ? *size : std::min(least, *size);
    }
    return least;
  }

 private:
  const std::vector<RecipePtr> inputs_;
};

}  // namespace

RecipePtr MakeZip(std::vector<RecipePtr> inputs) {
  if (inputs.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "Zip: of no datasets");
  }
  return std::make_shared<Zip>(std::move(inputs));
}

}  // namespace capstan
