// Compares compositions of operations with the same operations on a vector of
// numbers.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "capstan/dataset.h"
#include "dataset/read_all_test.h"

namespace capstan {
namespace {

struct Pipeline {
  Dataset dataset;
  std::vector<std::int64_t> model;
  bool indexable = true;
};

Example PlusOne(const Example& e) { return Number(ValueOf(e) + 1); }
bool NotThird(const Example& e) { return ValueOf(e) % 3 != 0; }

Pipeline Source() {
  const auto begin = *rc::gen::inRange<std::int64_t>(-5, 5);
  const auto size = *rc::gen::inRange<std::int64_t>(0, 20);
  Pipeline made{Dataset::Range(begin, begin + size), {}};
  for (std::int64_t i = 0; i < size; ++i) made.model.push_back(begin + i);
  if (*rc::gen::arbitrary<bool>() && size > 0) {
    made.dataset = Dataset::FromTensors(
        {{"value", Tensor::FromValues({size}, made.model)}});
  }
  return made;
}

// Batches of n, taken apart again: the elements stay the same.
Dataset Rebatched(const Dataset& dataset, std::int64_t n) {
  return dataset.Batch(n).Interleave(
      [](const Example& e) { return Dataset::FromTensors(e); },
      {.cycle_length = 1, .block_length = static_cast<int>(n)});
}

void Apply(Pipeline& on) {
  std::vector<std::int64_t>& model = on.model;
  const auto n = *rc::gen::inRange<std::int64_t>(0, 12);
  const auto at = std::min(static_cast<std::size_t>(n), model.size());
  const auto middle = model.begin() + static_cast<std::ptrdiff_t>(at);
  switch (*rc::gen::inRange(0, 12)) {
    case 0:
      on.dataset = on.dataset.Take(n);
      model.erase(middle, model.end());
      break;
    case 1:
      on.dataset = on.dataset.Skip(n);
      model.erase(model.begin(), middle);
      break;
    case 2: {
      const int shards = static_cast<int>(n) + 1;
      const int shard = *rc::gen::inRange(0, shards);
      on.dataset = on.dataset.Shard(shards, shard);
      std::vector<std::int64_t> kept;
      for (std::size_t i = 0; i < model.size(); ++i) {
        if (static_cast<int>(i) % shards == shard) kept.push_back(model[i]);
      }
      model = kept;
      break;
    }
    case 3:
      on.dataset =
          on.dataset.Map(PlusOne, {.parallel = static_cast<int>(n % 3) + 1});
      for (std::int64_t& value : model) ++value;
      break;
    case 4:
      on.dataset = on.dataset.Filter(NotThird);
      std::erase_if(model, [](std::int64_t value) { return value % 3 == 0; });
      on.indexable = false;
      break;
    case 5: {
      on.dataset = on.dataset.Repeat(n % 3);
      const auto once = std::exchange(model, {});
      for (int i = 0; i < n % 3; ++i) {
        model.insert(model.end(), once.begin(), once.end());
      }
      break;
    }
    case 6: {
      const Pipeline other = Source();
      on.dataset = on.dataset.Concatenate(other.dataset);
      model.insert(model.end(), other.model.begin(), other.model.end());
      break;
    }
    case 7:
      on.dataset = on.dataset.Prefetch(n + 1);
      break;
    case 8:
      on.dataset = on.dataset.Cache();
      break;
    case 9:
      on.dataset = Rebatched(on.dataset, n + 1);
      on.indexable = false;
      break;
    case 10:
      on.dataset = Dataset::Zip(
          {on.dataset, on.dataset.Skip(n).Map([](const Example& e) {
             return Example{{"other", e["value"]}};
           })});
      model.resize(model.size() - at);
      on.dataset =
          on.dataset.Map([](const Example& e) { return Number(ValueOf(e)); });
      break;
    default:
      on.dataset = on.dataset.Shuffle(1);  // buffer of one: keeps the order
      on.indexable = false;                // by number it would not
      break;
  }
}

RC_GTEST_PROP(PipelineModelTest, ComposedOperationsDoWhatTheModelDoes, ()) {
  Pipeline pipeline = Source();
  const int operations = *rc::gen::inRange(0, 6);
  for (int i = 0; i < operations; ++i) Apply(pipeline);
  RC_ASSERT(ValuesOf(pipeline.dataset) == pipeline.model);
  // Again, now that caches are full.
  RC_ASSERT(ValuesOf(pipeline.dataset) == pipeline.model);
  const auto cardinality = pipeline.dataset.Cardinality();
  const auto size = static_cast<std::int64_t>(pipeline.model.size());
  if (cardinality) RC_ASSERT(*cardinality == size);
  if (!pipeline.indexable) return;
  RC_ASSERT(cardinality.has_value());
  const ExampleTable table = ExampleTable::Open(pipeline.dataset);
  RC_ASSERT(table.size() == size);
  for (std::int64_t i = 0; i < size; ++i) {
    RC_ASSERT(ValueOf(table.At(i)) ==
              pipeline.model[static_cast<std::size_t>(i)]);
  }
}

RC_GTEST_PROP(PipelineModelTest, BatchesByNumberAreThoseInOrder, ()) {
  Pipeline pipeline = Source();
  const auto n = *rc::gen::inRange<std::int64_t>(1, 8);
  const bool drop = *rc::gen::arbitrary<bool>();
  const Dataset dataset =
      *rc::gen::arbitrary<bool>()
          ? pipeline.dataset.Batch(n, {.drop_remainder = drop})
          : pipeline.dataset.PaddedBatch(
                n, {.padding = {}, .drop_remainder = drop});
  const std::vector<Example> batches = ReadAll(dataset);
  const ExampleTable table = ExampleTable::Open(dataset);
  RC_ASSERT(table.size() == static_cast<std::int64_t>(batches.size()));
  for (std::int64_t i = 0; i < table.size(); ++i) {
    RC_ASSERT(table.At(i) == batches[static_cast<std::size_t>(i)]);
  }
}

}  // namespace
}  // namespace capstan
