// Clipping by the norm of a replica's whole gradient: over all parameters,
// however they are sent, over embeddings, and over all servers.
#include <gtest/gtest.h>

#include <cmath>

#include "torch/models.h"

namespace capstan {
namespace {

constexpr int kParameters = 8;
constexpr int64_t kElements = 32 << 10;  // of f32: they fill a bucket
constexpr int64_t kRows = 10;
constexpr int64_t kDim = 4;
constexpr double kBound = 1;
// The gradients: of each element of a parameter, and of each of the row that
// the batch names twice.
constexpr double kGradient = 1;
constexpr double kRowGradient = 200;

// Its output is linear in all that is trained.
struct Wide : torch::nn::Module {
  Wide() {
    for (int i = 0; i < kParameters; ++i) {
      parts.push_back(register_parameter("part" + std::to_string(i),
                                         torch::zeros({kElements})));
    }
  }
  torch::Tensor forward(const torch::Tensor& ids) {
    torch::Tensor sum = table->forward(ids).sum({1, 2}) * (kRowGradient / 2);
    for (const torch::Tensor& part : parts) sum = sum + part.sum() * kGradient;
    return sum;
  }
  std::vector<torch::Tensor> parts;
  Embedding table = register_module("table", Embedding(kRows, kDim, Zeros{}));
};

Dataset OneBatch() {
  return Dataset::FromTensors(
             {{"x", Tensor::FromValues<int64_t>({1, 2}, {3, 3})},
              {"y", Tensor::Zeros(DType::kF32, {1})}})
      .Batch(1);
}

Optimizer Clipped(double bound) {
  Optimizer optimizer = Sgd{.learning_rate = 1.0};
  optimizer.global_clip_norm = bound;
  return optimizer;
}

struct ClipJob {
  explicit ClipJob(int servers)
      : model(AddModel(program, "wide", [] { return std::make_shared<Wide>(); },
                       {.losses = {{"output",
                                    [](const torch::Tensor& predictions,
                                       const torch::Tensor& /*targets*/) {
                                      return predictions;
                                    }}}})),
        data(program.AddDataset(
            "data", [](const InputContext&) { return OneBatch(); })),
        step(program.AddFunction(
            "step",
            [](WorkerContext& worker, const PerWorker<Replicas<Wide>>& to) {
              return to->Step(worker, [](Wide& wide) {
                return wide.forward(torch::full({1, 2}, 3, torch::kInt64))
                    .sum();
              });
            })),
        cluster(program, 1, servers) {}

  Definitions program;
  TorchModel<Wide> model;
  DatasetHandle data;
  Function<double, PerWorker<Replicas<Wide>>> step;
  LocalCluster cluster;
};

const double kNorm = std::sqrt(kParameters * kElements * kGradient * kGradient +
                               kDim * kRowGradient * kRowGradient);

// What one step has changed is the gradient as it was applied. It must have the
// direction of the whole one, times `scale`.
void ExpectApplied(ClusterCoordinator& coordinator, double scale) {
  double squares = 0;
  for (int i = 0; i < kParameters; ++i) {
    const std::string name = "wide/part" + std::to_string(i);
    const torch::Tensor value = ToTorch(coordinator.Read(name));
    EXPECT_NEAR(value.min().item<double>(), -scale * kGradient, 1e-6) << name;
    EXPECT_NEAR(value.max().item<double>(), -scale * kGradient, 1e-6) << name;
    squares += value.to(torch::kFloat64).square().sum().item<double>();
  }
  const torch::Tensor table =
      ToTorch(coordinator.Read("wide/table.weight")).to(torch::kFloat64);
  EXPECT_NEAR(table[3].min().item<double>(), -scale * kRowGradient, 1e-5);
  squares += table.square().sum().item<double>();
  EXPECT_NEAR(std::sqrt(squares) / (scale * kNorm), 1, 1e-5);
}

void FitOnce(const TrainerOptions& options, int servers, double scale) {
  SCOPED_TRACE(servers);
  ClipJob job(servers);
  TrainerOptions given = options;
  given.loss = CustomLoss{"output"};
  given.partitioner = FixedShards(servers);
  Trainer trainer(job.cluster.cluster(), job.model, given);
  trainer.Fit(job.data, {.verbose = Verbose::kSilent});
  ExpectApplied(trainer.coordinator(), scale);
}

TEST(GlobalClipTest, FitClipsTheWholeGradient) {
  for (const int servers : {1, 3}) {
    FitOnce({.optimizer = Clipped(kBound)}, servers, kBound / kNorm);
  }
}

TEST(GlobalClipTest, InEveryModeOfUpdating) {
  const Optimizer clipped = Clipped(kBound);
  const double scale = kBound / kNorm;
  FitOnce({.optimizer = clipped, .update = Sync{.replicas = 1}}, 2, scale);
  FitOnce({.optimizer = clipped, .update = BoundedStaleness{.replicas = 1}}, 2,
          scale);
  FitOnce({.optimizer = clipped, .prefetch = true}, 2, scale);
}

TEST(GlobalClipTest, AGradientWithinTheBoundIsLeftAlone) {
  FitOnce({.optimizer = Clipped(2 * kNorm)}, 2, 1);
  FitOnce({.optimizer = Clipped(0)}, 2, 1);
}

TEST(GlobalClipTest, CustomLoopsClipTheWholeGradient) {
  for (const int servers : {1, 3}) {
    SCOPED_TRACE(servers);
    ClipJob job(servers);
    Trainer trainer(
        job.cluster.cluster(), job.model,
        {.optimizer = Clipped(kBound), .partitioner = FixedShards(servers)});
    ClusterCoordinator& coordinator = trainer.coordinator();
    const auto replicas =
        coordinator.CreatePerWorkerResource(job.model.replicas());
    coordinator.Schedule(job.step, replicas);
    coordinator.Join();
    ExpectApplied(coordinator, kBound / kNorm);
  }
}

// The norms of replicas are their own: each gradient is clipped, then the mean
// is taken.
TEST(GlobalClipTest, BeforeReplicasAreAddedUp) {
  Definitions program;
  auto make = [] {
    auto line = std::make_shared<torch::nn::LinearImpl>(
        torch::nn::LinearOptions(1, 1).bias(false));
    const torch::NoGradGuard no_gradients;
    line->weight.zero_();
    return line;
  };
  const TorchOptions options = {
      .losses = {{"output",
                  [](const torch::Tensor& predictions, const torch::Tensor&) {
                    return predictions.flatten();
                  }}}};
  const Model model = AddModel(program, "line", make, options);
  const DatasetHandle data =
      program.AddDataset("data", [](const InputContext&) {
        return Dataset::FromTensors(
                   {{"x", Tensor::FromValues<float>({2, 1}, {100, -0.5})},
                    {"y", Tensor::Zeros(DType::kF32, {2})}})
            .Batch(1);
      });
  LocalCluster cluster(program, 2, 1);
  Trainer trainer(cluster.cluster(), model,
                  {.optimizer = Clipped(kBound),
                   .loss = CustomLoss{"output"},
                   .update = Sync{.replicas = 2}});
  trainer.Fit(data, {.verbose = Verbose::kSilent});
  const Tensor weight = trainer.coordinator().Read("line/weight");
  EXPECT_NEAR(weight.Values<float>()[0], -(1 - 0.5) / 2, 1e-6);
}

}  // namespace
}  // namespace capstan
