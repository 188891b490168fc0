// Embeddings whose rows are on the servers, against libtorch's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/error.h"
#include "torch/models.h"

namespace capstan {
namespace {

using testing::ErrorOf;
using testing::Fixed;
using ::testing::HasSubstr;

constexpr int64_t kTableRows = 20;
constexpr int64_t kTableDim = 3;
constexpr double kPairRate = 0.1;

// Two columns of ids, of which some occur in both, and often.
Dataset PairBatches() {
  const torch::Tensor ids =
      (torch::arange(128) * 37 % 101 % kTableRows).reshape({64, 2});
  const torch::Tensor y = torch::cos(ids.to(torch::kFloat32).sum(1));
  return Dataset::FromTensors({{"x", FromTorch(ids)}, {"y", FromTorch(y)}})
      .Batch(8);
}

// `Table` is an embedding of ours, or libtorch's.
template <typename Table>
struct Pairs : torch::nn::Module {
  explicit Pairs(Table of) : table(register_module("table", std::move(of))) {}
  torch::Tensor forward(const torch::Tensor& ids) {
    // The table is used twice in a step.
    const torch::Tensor a = table->forward(ids.select(1, 0));
    const torch::Tensor b = table->forward(ids.select(1, 1));
    return out->forward(a * b);
  }
  Table table;
  torch::nn::Linear out =
      register_module("out", torch::nn::Linear(kTableDim, 1));
};
using Ours = Pairs<Embedding>;
using Theirs = Pairs<torch::nn::Embedding>;

std::shared_ptr<Ours> MakeOurs() {
  return Fixed(
      std::make_shared<Ours>(Embedding(kTableRows, kTableDim, Constant{0.5})));
}

std::shared_ptr<Theirs> MakeTheirs() {
  const auto theirs = Fixed(
      std::make_shared<Theirs>(torch::nn::Embedding(kTableRows, kTableDim)));
  const torch::NoGradGuard no_gradients;
  theirs->table->weight.fill_(0.5);
  return theirs;
}

TEST(EmbeddingTest, TrainsAsLibtorchsOwn) {
  Definitions program;
  const Model model = AddModel(program, "pairs", MakeOurs);
  const DatasetHandle data = program.AddDataset(
      "data", [](const InputContext&) { return PairBatches(); });
  LocalCluster cluster(program, 1, 2);
  Trainer trainer(cluster.cluster(), model,
                  {.optimizer = Sgd{.learning_rate = kPairRate},
                   .partitioner = FixedShards(2)});
  trainer.Fit(data, {.epochs = 3, .verbose = Verbose::kSilent});

  const std::shared_ptr<Theirs> theirs = MakeTheirs();
  torch::optim::SGD optimizer(theirs->parameters(), kPairRate);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto next = PairBatches().Open();
    while (const std::optional<Example> batch = next()) {
      optimizer.zero_grad();
      torch::mse_loss(theirs->forward(ToTorch((*batch)["x"])).squeeze(1),
                      ToTorch((*batch)["y"]))
          .backward();
      optimizer.step();
    }
  }
  const torch::Tensor table =
      ToTorch(trainer.coordinator().Read("pairs/table.weight"));
  EXPECT_LE((table - theirs->table->weight).abs().max().item<double>(), 1e-5);
  const torch::Tensor weight =
      ToTorch(trainer.coordinator().Read("pairs/out.weight"));
  EXPECT_LE((weight - theirs->out->weight).abs().max().item<double>(), 1e-5);
}

TEST(EmbeddingTest, HasAnOptimizerOfItsOwn) {
  const Embedding table(kTableRows, kTableDim, Zeros{},
                        Optimizer(Adagrad{.learning_rate = 0.3}));
  ASSERT_TRUE(table->Spec().optimizer.has_value());
  EXPECT_TRUE(std::holds_alternative<Adagrad>(table->Spec().optimizer->rule));
  EXPECT_FALSE(Embedding(kTableRows, kTableDim)->Spec().optimizer.has_value());
}

TEST(EmbeddingTest, ErrorsNameTheThing) {
  EXPECT_THAT(ErrorOf([] { Embedding(0, 3); }), HasSubstr("0 rows"));
  EXPECT_THAT(ErrorOf([] { Embedding(3, -1); }), HasSubstr("-1 dimensions"));
  EXPECT_THAT(
      ErrorOf([] { Embedding(3, 2)->forward(torch::zeros({2}, torch::kI64)); }),
      HasSubstr("AddModel"));
}

TEST(EmbeddingTest, AnIdThatIsNoRowFailsTheStep) {
  Definitions program;
  const Model model = AddModel(program, "pairs", MakeOurs);
  const DatasetHandle data =
      program.AddDataset("data", [](const InputContext&) {
        return Dataset::FromTensors(
                   {{"x", Tensor::FromValues<int64_t>({1, 2}, {3, kTableRows})},
                    {"y", Tensor::Zeros(DType::kF32, {1})}})
            .Batch(1);
      });
  LocalCluster cluster(program, 1, 1);
  Trainer trainer(cluster.cluster(), model,
                  {.optimizer = Sgd{.learning_rate = kPairRate}});
  EXPECT_THAT(
      ErrorOf([&] { trainer.Fit(data, {.verbose = Verbose::kSilent}); }),
      HasSubstr("id 20 at position 0 is not in [0, 20)"));
}

}  // namespace
}  // namespace capstan
