#include <utility>

#include "dataset/format/sources.h"
#include "dataset/operation/operations.h"
#include "dataset/recipe/block.h"
#include "dataset/recipe/recipe.h"

namespace capstan {
namespace {

// One reading: the cursor is destroyed before the recipe that it needs.
struct Reading {
  RecipePtr recipe;
  std::unique_ptr<Cursor> cursor;  // null after the end
};

Dataset::Source Begin(const RecipePtr& recipe, const Iteration& iteration) {
  // Shared, because functions are copied; the copies share the position.
  auto reading = std::make_shared<Reading>();
  reading->recipe = recipe;
  reading->cursor = recipe->Open(iteration);
  return [reading = std::move(reading)]() -> std::optional<Example> {
    if (reading->cursor == nullptr) return std::nullopt;
    Run run = reading->cursor->Next(1);
    if (run.size() == 0) {
      reading->cursor = nullptr;
      return std::nullopt;
    }
    return Example(std::move(run.block), run.begin);
  };
}

}  // namespace

Dataset::Dataset(RecipePtr recipe) : recipe_(std::move(recipe)) {}

Dataset Dataset::Csv(std::string pattern, CsvOptions options) {
  return Dataset(MakeCsv(std::move(pattern), options));
}

Dataset Dataset::LibSvm(std::string pattern, LibSvmOptions options) {
  return Dataset(MakeLibSvm(std::move(pattern), std::move(options)));
}

Dataset Dataset::TfRecord(std::string pattern, TfRecordOptions options) {
  return Dataset(MakeTfRecord(std::move(pattern), std::move(options)));
}

Dataset Dataset::Idx(std::string images, std::string labels,
                     IdxOptions options) {
  return Dataset(MakeIdx(std::move(images), std::move(labels), options));
}

Dataset Dataset::Npy(std::string path, std::string name) {
  return Dataset(MakeNpy(std::move(path), std::move(name)));
}

Dataset Dataset::FromTensors(const Example& columns) {
  Example::Columns tensors;
  for (std::string& name : columns.names()) {
    Tensor tensor = columns[name];
    tensors.emplace_back(std::move(name), std::move(tensor));
  }
  return Dataset(MakeTensors(RowsOf(tensors)));
}

Dataset Dataset::FromGenerator(std::function<Source()> make) {
  return Dataset(MakeGenerator(std::move(make)));
}

Dataset Dataset::Range(std::int64_t begin, std::int64_t end,
                       std::int64_t step) {
  return Dataset(MakeRange(begin, end, step));
}

Dataset Dataset::Shard(int n, int i) const {
  return Dataset(MakeShard(recipe_, n, i));
}

Dataset Dataset::Shuffle(std::int64_t buffer, ShuffleOptions options) const {
  return Dataset(MakeShuffle(recipe_, buffer, options));
}

Dataset Dataset::Repeat(std::int64_t count) const {
  return Dataset(MakeRepeat(recipe_, count));
}

Dataset Dataset::Batch(std::int64_t n, BatchOptions options) const {
  return Dataset(MakeBatch(recipe_, n, options));
}

Dataset Dataset::PaddedBatch(std::int64_t n, PaddedBatchOptions options) const {
  return Dataset(MakePaddedBatch(recipe_, n, std::move(options)));
}

Dataset Dataset::Map(std::function<Example(const Example&)> function,
                     MapOptions options) const {
  return Dataset(MakeMap(recipe_, std::move(function), options));
}

Dataset Dataset::Filter(std::function<bool(const Example&)> predicate) const {
  return Dataset(MakeFilter(recipe_, std::move(predicate)));
}

Dataset Dataset::Take(std::int64_t n) const {
  return Dataset(MakeTake(recipe_, n));
}

Dataset Dataset::Skip(std::int64_t n) const {
  return Dataset(MakeSkip(recipe_, n));
}

Dataset Dataset::Interleave(std::function<Dataset(const Example&)> function,
                            InterleaveOptions options) const {
  return Dataset(MakeInterleave(recipe_, std::move(function), options));
}

Dataset Dataset::Prefetch(std::int64_t n) const {
  return Dataset(MakePrefetch(recipe_, n));
}

Dataset Dataset::Cache() const { return Dataset(MakeCache(recipe_)); }

Dataset Dataset::Zip(const std::vector<Dataset>& datasets) {
  std::vector<RecipePtr> recipes;
  for (const Dataset& dataset : datasets) recipes.push_back(dataset.recipe_);
  return Dataset(MakeZip(std::move(recipes)));
}

Dataset Dataset::Concatenate(const Dataset& next) const {
  return Dataset(MakeConcatenate(recipe_, next.recipe_));
}

std::optional<std::int64_t> Dataset::Cardinality() const {
  return recipe_->Cardinality();
}

Dataset::Source Dataset::Open() const {
  return Begin(recipe_, {.epoch = recipe_->NextEpoch()});
}

Dataset::Source Dataset::Open(std::uint64_t epoch, std::uint64_t seed) const {
  return Begin(recipe_, {.epoch = epoch, .seed = seed});
}

}  // namespace capstan
