#include "bench_train/definitions.h"

#include <functional>
#include <optional>

#include "bench_train/data.h"

namespace capstan::bench {
namespace {

Dataset ImageBatches(const InputContext& input) {
  return Images().Shard(input).Shuffle(60'000).Repeat().Batch(kMlpBatch);
}

Dataset ClickBatches(const InputContext&) {
  return Clicks().Shuffle(64 * kClickBatch).Repeat().Batch(kClickBatch);
}

// The next of `steps` batches.
auto Next(TrainDefinitions::Batches& batches, int steps) {
  return [&batches, left = steps]() mutable -> std::optional<Example> {
    if (left-- == 0) return std::nullopt;
    return batches->Next();
  };
}

double MlpSteps(WorkerContext& worker, PerWorker<Replicas<Mlp>> replicas,
                TrainDefinitions::Batches batches, int steps, bool prefetch) {
  auto next = Next(batches, steps);
  return replicas->Steps(
      worker, std::ref(next),
      [](Mlp& model, const Example& batch) {
        return torch::nll_loss(
            torch::log_softmax(model.forward(ToTorch(batch["x"])), 1),
            ToTorch(batch["y"]));
      },
      {.prefetch = prefetch});
}

double ClickSteps(WorkerContext& worker,
                  PerWorker<Replicas<ClickModel>> replicas,
                  TrainDefinitions::Batches batches, int steps, bool prefetch) {
  auto next = Next(batches, steps);
  return replicas->Steps(worker, std::ref(next),
                         [](ClickModel& model, const Example& batch) {
                           return torch::binary_cross_entropy_with_logits(
                               model.forward(TorchBatch(batch)),
                               ToTorch(batch["y"]));
                         },
                         {.prefetch = prefetch});
}

}  // namespace

TrainDefinitions::TrainDefinitions(Definitions& program)
    : mlp(AddModel(program, "mlp", [] { return std::make_shared<Mlp>(); })),
      clicks(AddModel(program, "clicks",
                      [] { return std::make_shared<ClickModel>(); })),
      images(program.AddDataset("images", ImageBatches)),
      click_data(program.AddDataset("click_data", ClickBatches)),
      epoch(program.AddDataset("epoch",
                               [](const InputContext&) {
                                 return Images().Shuffle(60'000).Batch(
                                     kMlpBatch);
                               })),
      epoch_in_quarters(program.AddDataset(
          "epoch_in_quarters",
          [](const InputContext&) {
            return Images().Shuffle(60'000).Batch(kMlpBatch / 4);
          })),
      test(program.AddDataset(
          "test", [](const InputContext&) { return TestImages().Batch(500); })),
      mlp_steps(program.AddFunction("mlp_steps", MlpSteps)),
      click_steps(program.AddFunction("click_steps", ClickSteps)) {}

}  // namespace capstan::bench
