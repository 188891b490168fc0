// The first model in docs/tutorial.md: is a point inside a ring?
#include <capstan/program.h>
#include <capstan/torch.h>
#include <capstan/trainer.h>

#include <cstdio>

namespace cs = capstan;

struct Ring : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return out->forward(torch::relu(hidden->forward(x)));
  }
  torch::nn::Linear hidden =
      register_module("hidden", torch::nn::Linear(2, 32));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(32, 1));
};

cs::Dataset Points() {
  torch::manual_seed(2);
  const torch::Tensor x = torch::randn({10'000, 2});
  const torch::Tensor distance = x.square().sum(1).sqrt();
  const torch::Tensor y = (distance > 0.7).logical_and(distance < 1.6);
  return cs::Dataset::FromTensors(
      {{"x", cs::FromTorch(x)}, {"y", cs::FromTorch(y)}});
}

int main(int argc, char** argv) {
  cs::Program program(argc, argv);
  auto model = cs::AddModel(program, "ring", [] {
    torch::manual_seed(1);
    return std::make_shared<Ring>();
  });
  const cs::Dataset points = Points();
  auto train = program.AddDataset("train", [=](const cs::InputContext&) {
    return points.Skip(2'000).Shuffle(8'000).Batch(32);
  });
  auto test = program.AddDataset("test", [=](const cs::InputContext&) {
    return points.Take(2'000).Batch(500);
  });
  return program.Run([&](cs::Cluster& cluster) {
    cs::Trainer trainer(cluster, model,
                        {.optimizer = cs::Adam{.learning_rate = 0.01},
                         .loss = cs::BinaryCrossentropy{},
                         .metrics = {cs::Accuracy{}}});
    const cs::History history = trainer.Fit(train, {.epochs = 5});
    std::printf("loss: %.3f at first, %.3f at last\n", history["loss"].front(),
                history["loss"].back());
    trainer.Evaluate(test);
    const cs::Tensor scores = trainer.Predict(test);
    std::printf("predictions: %d, the first %.2f\n",
                static_cast<int>(scores.Values<float>().size()),
                scores.Values<float>()[0]);
    trainer.Save("ring.safetensors");
  });
}
