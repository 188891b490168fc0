// What the functions of a model do on a worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/trainer.h"
#include "train/replica_pool.h"

namespace capstan {

// The elements [begin, end) of a table; `seed` is that of shuffles which have
// none of their own.
NextBatch ReadRange(ExampleTable table, const DataRange& range,
                    std::uint64_t seed);
// Up to `batches` of what the workers' steps share; `ended` says afterwards
// whether there were fewer. Both must outlive it.
NextBatch ReadShared(Iterator<Example>& iterator, std::uint64_t batches,
                     bool& ended);
// Of the first `limit` elements every `shards`-th, from `shard` on.
NextBatch ReadShard(const Dataset& data, std::int64_t shard,
                    std::int64_t shards, std::int64_t limit);

// Each takes a replica of the pool for as long as it runs. What the replica or
// the data throws passes through.
StepReport TrainOn(WorkerContext& worker, ReplicaPool& pool,
                   const std::string& order, const NextBatch& next);
StepReport EvaluateOn(WorkerContext& worker, ReplicaPool& pool,
                      const std::string& order, const NextBatch& next);
std::vector<Tensor> PredictOn(WorkerContext& worker, ReplicaPool& pool,
                              const std::string& order, const NextBatch& next);

}  // namespace capstan
