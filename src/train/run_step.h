// What a model's functions do on a worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/trainer.h"
#include "train/replica_pool.h"

namespace capstan {

// The elements [begin, end) of a table; `seed` is for shuffles that have none
// of their own.
NextBatch ReadRange(ExampleTable table, const DataRange& range,
                    std::uint64_t seed);
// Up to `batches` batches of an iterator that the worker's steps share; sets
// `ended` if there were fewer. `iterator` and `ended` must outlive the result.
NextBatch ReadShared(Iterator<Example>& iterator, std::uint64_t batches,
                     bool& ended);
// Every `shards`-th of the first `limit` elements, starting from `shard`.
NextBatch ReadShard(const Dataset& data, std::int64_t shard,
                    std::int64_t shards, std::int64_t limit);

// Each leases a replica from the pool while it runs. Exceptions of the replica
// or the data propagate.
StepReport TrainOn(WorkerContext& worker, ReplicaPool& pool,
                   const std::string& order, const NextBatch& next);
StepReport EvaluateOn(WorkerContext& worker, ReplicaPool& pool,
                      const std::string& order, const NextBatch& next);
std::vector<Tensor> PredictOn(WorkerContext& worker, ReplicaPool& pool,
                              const std::string& order, const NextBatch& next);

}  // namespace capstan
