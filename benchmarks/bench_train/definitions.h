// What the tasks of the benchmark register: models, data, and the step of a
// custom loop for each model.
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
  // One epoch of Fashion-MNIST in batches of kMlpBatch; in batches a quarter of
  // that size; and the test images.
  DatasetHandle epoch;
  DatasetHandle epoch_in_quarters;
  DatasetHandle test;
  // Runs `steps` steps; returns the last loss.
  Function<double, PerWorker<Replicas<Mlp>>, Batches, int, bool> mlp_steps;
  Function<double, PerWorker<Replicas<ClickModel>>, Batches, int, bool>
      click_steps;
};

}  // namespace capstan::bench
