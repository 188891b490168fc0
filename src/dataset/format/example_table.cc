#include <utility>

#include "base/cat.h"
#include "capstan/dataset.h"
#include "dataset/recipe/recipe.h"

namespace capstan {
namespace {

// The table is destroyed before the recipe that it needs.
struct Opened {
  RecipePtr recipe;
  std::shared_ptr<const Table> table;
};

}  // namespace

ExampleTable::ExampleTable(std::shared_ptr<const Table> table)
    : table_(std::move(table)) {}

ExampleTable ExampleTable::Open(const Dataset& dataset) {
  auto opened = std::make_shared<Opened>();
  opened->recipe = dataset.recipe();
  opened->table = opened->recipe->OpenTable();
  const Table* table = opened->table.get();
  return ExampleTable(std::shared_ptr<const Table>(std::move(opened), table));
}

std::int64_t ExampleTable::size() const { return table_->size(); }

std::string ExampleTable::Describe() const { return table_->Describe(); }

Example ExampleTable::At(std::int64_t index, std::uint64_t epoch,
                         std::uint64_t seed) const {
  if (index < 0 || index >= table_->size()) {
    throw Error(ErrorCode::kOutOfRange,
                Cat("element ", index, " of a dataset of ", table_->size()));
  }
  std::vector<Run> runs;
  table_->Read({&index, 1}, {.epoch = epoch, .seed = seed}, runs);
  return Example(std::move(runs.front().block), runs.front().begin);
}

ExampleTable LazyTable::Get() const {
  const std::lock_guard lock(mutex_);
  if (!table_) table_ = ExampleTable::Open(dataset_);
  return *table_;
}

}  // namespace capstan
