// Linear regression: the shortest program that trains a model.
//
//   linear_regression                             all in this process
//   capstan run -w 2 -- linear_regression         as separate processes
#include <capstan/program.h>
#include <capstan/torch.h>
#include <capstan/trainer.h>

#include <cstdio>

namespace cs = capstan;

// y = 3 a - 2 b + 1, plus some noise.
cs::Dataset Points() {
  torch::manual_seed(1);
  const torch::Tensor x = torch::randn({2'000, 2});
  const torch::Tensor y =
      3 * x.select(1, 0) - 2 * x.select(1, 1) + 1 + 0.1 * torch::randn({2'000});
  return cs::Dataset::FromTensors(
      {{"x", cs::FromTorch(x)}, {"y", cs::FromTorch(y)}});
}

int main(int argc, char** argv) {
  cs::Program program(argc, argv);
  auto model = cs::AddModel(program, "line", [] {
    torch::manual_seed(2);
    return torch::nn::Linear(2, 1);
  });
  auto points =
      program.AddDataset("points", [all = Points()](const cs::InputContext&) {
        return all.Shuffle(2'000).Batch(32);
      });
  return program.Run([&](cs::Cluster& cluster) {
    cs::Trainer trainer(cluster, model,
                        {.optimizer = cs::Sgd{.learning_rate = 0.02},
                         .loss = cs::MeanSquaredError{}});
    trainer.Fit(points,
                {.epochs = 50,
                 .validation_split = 0.2,
                 .callbacks = {cs::EarlyStopping({.min_delta = 1e-3})}});
    auto values = trainer.Values();
    const auto w = values.at("line/weight").Values<float>();
    const auto b = values.at("line/bias").Values<float>();
    std::printf("y = %.2f a %+.2f b %+.2f\n", w[0], w[1], b[0]);
  });
}
