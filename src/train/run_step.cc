#include "train/run_step.h"

#include <utility>

#include "base/async/real_clock.h"
#include "train/step_report.h"

namespace capstan {
namespace {

// Wraps `next`: adds its time to `total_ns`, and stops between batches when the
// step is cancelled.
NextBatch Timed(WorkerContext& worker, const NextBatch& next,
                std::int64_t& total_ns) {
  return [&worker, &next, &total_ns, clock = RealClock()] {
    worker.ThrowIfCancelled();
    const MonotonicTime begin = clock.Now();
    std::optional<Example> batch = next();
    total_ns += (clock.Now() - begin).count();
    return batch;
  };
}

}  // namespace

NextBatch ReadRange(ExampleTable table, const DataRange& range,
                    std::uint64_t seed) {
  return [table = std::move(table), epoch = range.epoch, seed, end = range.end,
          at = range.begin]() mutable -> std::optional<Example> {
    if (at >= end) return std::nullopt;
    return table.At(at++, epoch, seed);
  };
}

NextBatch ReadShared(Iterator<Example>& iterator, std::uint64_t batches,
                     bool& ended) {
  return [&iterator, &ended, left = batches]() mutable {
    std::optional<Example> batch;
    if (left == 0) return batch;
    --left;
    batch = iterator.TryNext();
    if (!batch) {
      ended = true;
      left = 0;
    }
    return batch;
  };
}

NextBatch ReadShard(const Dataset& data, std::int64_t shard,
                    std::int64_t shards, std::int64_t limit) {
  return [source = data.Open(0), at = std::int64_t{0}, shard, shards,
          limit]() mutable -> std::optional<Example> {
    while (at < limit) {
      std::optional<Example> element = source();
      if (!element) {
        at = limit;
        return std::nullopt;
      }
      if (at++ % shards == shard) return element;
    }
    return std::nullopt;
  };
}

StepReport TrainOn(WorkerContext& worker, ReplicaPool& pool,
                   const std::string& order, const NextBatch& next) {
  ReplicaPool::Lease lease = pool.Take(order);
  StepReport report;
  lease.replica().Train(worker, lease.order(),
                        Timed(worker, next, report.data_ns), lease.metrics(),
                        report);
  TakeStates(lease.metrics(), report);
  std::move(lease).GiveBack();
  return report;
}

StepReport EvaluateOn(WorkerContext& worker, ReplicaPool& pool,
                      const std::string& order, const NextBatch& next) {
  ReplicaPool::Lease lease = pool.Take(order);
  StepReport report;
  lease.replica().Evaluate(worker, lease.order(),
                           Timed(worker, next, report.data_ns), lease.metrics(),
                           report);
  TakeStates(lease.metrics(), report);
  std::move(lease).GiveBack();
  return report;
}

std::vector<Tensor> PredictOn(WorkerContext& worker, ReplicaPool& pool,
                              const std::string& order, const NextBatch& next) {
  ReplicaPool::Lease lease = pool.Take(order);
  std::vector<Tensor> outputs;
  std::int64_t data_ns = 0;
  lease.replica().Predict(
      worker, lease.order(), Timed(worker, next, data_ns),
      [&](Tensor output) { outputs.push_back(std::move(output)); });
  std::move(lease).GiveBack();
  return outputs;
}

}  // namespace capstan
