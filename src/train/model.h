// The functions and resources registered for a model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/trainer.h"
#include "train/replica_pool.h"

namespace capstan {

// How many elements a dataset has.
struct DataCount {
  // Set if the dataset can be read by number.
  std::optional<std::int64_t> size = {};
  // If so, what its numbers stand for (ExampleTable), in a few words.
  std::string description = {};
  // If not, why not, and whether it is known to be infinite.
  std::string obstacle = {};
  bool infinite = false;
};

template <>
struct Type<DataCount> {
  static std::string Name() { return "data_count"; }
  static void Write(ValueWriter& writer, const DataCount& value);
  static DataCount Read(ValueReader& reader);
};

// The part of a dataset that a function reads: every `shards`-th element,
// starting from `shard`.
struct DataShard {
  std::int64_t shard = 0;
  std::int64_t shards = 1;
  std::int64_t limit = 0;  // elements of all shards together
};

template <>
struct Type<DataShard> {
  static std::string Name() { return "data_shard"; }
  static void Write(ValueWriter& writer, const DataShard& value);
  static DataShard Read(ValueReader& reader);
};

struct Model::Impl {
  using Pool = PerWorker<ReplicaPool>;
  using Batches = PerWorker<Iterator<Example>>;
  using Table = PerWorker<LazyTable>;
  using Order = std::string;

  std::shared_ptr<const ModelDefinition> definition;
  Resource<ReplicaPool> replicas;
  Function<StepReport, Pool, Batches, std::uint64_t, Order> train;
  // The integer is the seed of shuffles that have none; also in evaluate_range.
  Function<StepReport, Pool, Table, DataRange, std::uint64_t, Order>
      train_range;
  Function<StepReport, Pool, Table, DataShard, Order> evaluate;
  Function<StepReport, Pool, Table, DataRange, std::uint64_t, Order>
      evaluate_range;
  Function<std::vector<Tensor>, Pool, Table, DataShard, Order> predict;
  Function<std::vector<Tensor>, Pool, Table, DataRange, Order> predict_range;
  Function<DataCount, Table> count;
};

}  // namespace capstan
