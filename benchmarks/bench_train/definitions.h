// What the tasks of the benchmark have: models, data, and the step of a custom
// loop for each model.
#pragma once

#include <cstdint>

#include "bench_train/models.h"
#include "capstan/torch.h"
#include "capstan/worker.h"

namespace capstan::bench {

struct TrainDefinitions {
  explicit TrainDefinitions(Definitions& program);

  using Batches = PerWorker<Iterator<Example>>;
  TorchModel<Mlp> mlp;
  TorchModel<ClickModel> clicks;
  DatasetHandle images;
  DatasetHandle click_data;
  // Fashion-MNIST once, in batches of kMlpBatch, in a quarter of that, and what
  // is to be told apart in the end.
  DatasetHandle epoch;
  DatasetHandle epoch_in_quarters;
  DatasetHandle test;
  // `steps` steps; returns the last loss.
  Function<double, PerWorker<Replicas<Mlp>>, Batches, int, bool> mlp_steps;
  Function<double, PerWorker<Replicas<ClickModel>>, Batches, int, bool>
      click_steps;
};

}  // namespace capstan::bench
