// Parameters of f16 and bf16: the servers have f32 masters of them, which add
// up what the parameters are too coarse for.
#include <gtest/gtest.h>

#include "torch/models.h"

namespace capstan {
namespace {

constexpr int64_t kHalfBatches = 64;
// Far below half an ulp of 1 in both types.
constexpr float kTinyRate = 1e-5F;

// Its gradients are 1, whatever the values.
template <torch::ScalarType kType>
struct Half : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return (x.to(kType) * 0 + weight).sum(1);
  }
  torch::Tensor weight = register_parameter("weight", torch::ones({4}, kType));
  torch::Tensor frozen =
      register_parameter("frozen", torch::ones({4}, kType), false);
};

Dataset HalfBatches() {
  return Dataset::FromTensors(
             {{"x", Tensor::Zeros(DType::kF32, {kHalfBatches, 4})},
              {"y", Tensor::Zeros(DType::kF32, {kHalfBatches})}})
      .Batch(1);
}

template <torch::ScalarType kType>
void Check(const TrainerOptions& options, double updates) {
  using M = Half<kType>;
  Definitions program;
  const Model model =
      AddModel(program, "half", [] { return std::make_shared<M>(); },
               {.losses = {{"output", [](const torch::Tensor& predictions,
                                         const torch::Tensor& /*targets*/) {
                              return predictions;
                            }}}});
  const DatasetHandle data = program.AddDataset(
      "data", [](const InputContext&) { return HalfBatches(); });
  LocalCluster cluster(program, 1, 2);
  TrainerOptions given = options;
  given.optimizer = Sgd{.learning_rate = kTinyRate};
  given.loss = CustomLoss{"output"};
  given.partitioner = FixedShards(2);
  Trainer trainer(cluster.cluster(), model, given);
  trainer.Fit(data, {.epochs = 10, .verbose = Verbose::kSilent});

  const torch::Tensor master =
      ToTorch(trainer.coordinator().Read("half/weight"));
  ASSERT_EQ(master.scalar_type(), torch::kFloat32);
  const double expected = 1 - updates * kTinyRate;
  EXPECT_NEAR(master.min().item<double>(), expected, 1e-5);
  EXPECT_NEAR(master.max().item<double>(), expected, 1e-5);

  // What is predicted with is the masters, rounded.
  const torch::Tensor rounded = master.to(kType);
  const torch::Tensor predicted = ToTorch(trainer.Predict(data));
  EXPECT_EQ(predicted[0].template item<double>(),
            rounded.sum().template item<double>());
  const auto copy = std::make_shared<M>();
  CopyValues(trainer, *copy);
  EXPECT_TRUE(copy->weight.equal(rounded));
  AssignValues(trainer, *copy);
  EXPECT_TRUE(ToTorch(trainer.coordinator().Read("half/weight"))
                  .equal(rounded.to(torch::kFloat32)));
}

TEST(HalfTest, MastersAddUpWhatHalvesCannot) {
  Check<torch::kFloat16>({}, 10 * kHalfBatches);
  Check<torch::kBFloat16>({}, 10 * kHalfBatches);
}

TEST(HalfTest, InTheOtherModesToo) {
  Check<torch::kBFloat16>({.prefetch = true}, 10 * kHalfBatches);
  Check<torch::kFloat16>({.update = Sync{.replicas = 4}},
                         10 * kHalfBatches / 4);
}

}  // namespace
}  // namespace capstan
