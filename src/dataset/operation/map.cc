#include <utility>

#include "capstan/error.h"
#include "dataset/operation/operations.h"
#include "dataset/operation/parallel_map.h"

namespace capstan {
namespace {

class MapCursor final : public Cursor {
 public:
  MapCursor(std::unique_ptr<Cursor> input, const MapFunction& function)
      : input_(std::move(input)), function_(function) {}

  Run Next(std::int64_t /*max*/) override {
    const Run run = input_->Next(1);
    if (run.size() == 0) return run;
    const Example made = function_(Example(run.block, run.begin));
    return {made.block(), made.row(), made.row() + 1};
  }

 private:
  const std::unique_ptr<Cursor> input_;
  const MapFunction& function_;
};

// Calls the function in the reader's thread: several threads read at once
// already.
class MapTable final : public Table {
 public:
  MapTable(std::shared_ptr<const Table> input, const MapFunction& function)
      : input_(std::move(input)), function_(function) {}

  std::int64_t size() const override { return input_->size(); }
  std::string Describe() const override { return input_->Describe(); }

  void Read(std::span<const std::int64_t> indices, const Order& order,
            std::vector<Run>& out) const override {
    std::vector<Run> runs;
    input_->Read(indices, order, runs);
    for (const Run& run : runs) {
      for (std::int64_t i = run.begin; i < run.end; ++i) {
        const Example made = function_(Example(run.block, i));
        Append({made.block(), made.row(), made.row() + 1}, out);
      }
    }
  }

 private:
  const std::shared_ptr<const Table> input_;
  const MapFunction& function_;
};

class Map final : public Recipe {
 public:
  Map(RecipePtr input, MapFunction function, int parallel)
      : input_(std::move(input)),
        function_(std::move(function)),
        parallel_(parallel) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    if (parallel_ == 1) {
      return std::make_unique<MapCursor>(input_->Open(iteration), function_);
    }
    return OpenParallelMap(input_->Open(iteration), function_, parallel_);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    return std::make_shared<MapTable>(input_->OpenTable(), function_);
  }
  std::optional<std::int64_t> Cardinality() const override {
    return input_->Cardinality();
  }

 private:
  const RecipePtr input_;
  const MapFunction function_;
  const int parallel_;
};

}  // namespace

RecipePtr MakeMap(RecipePtr input, MapFunction function, MapOptions options) {
  if (!function) {
    throw Error(ErrorCode::kInvalidArgument, "Map: the function is empty");
  }
  CheckAtLeast("Map: parallel", options.parallel, 1);
  return std::make_shared<Map>(std::move(input), std::move(function),
                               options.parallel);
}

}  // namespace capstan
