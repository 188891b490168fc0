// Fashion-MNIST: a small network, trained with Fit.
//
//   fashion_mnist [EPOCHS [DIRECTORY]]            all in this process
//   capstan run -w 2 -s 2 -- fashion_mnist        as separate processes
//
// The images come from Debian's package dataset-fashion-mnist. Each epoch uses
// every image once, whichever tasks die. A checkpoint after each epoch and logs
// for TensorBoard go to DIRECTORY, by default runs/fashion_mnist.
#include <capstan/program.h>
#include <capstan/torch.h>
#include <capstan/trainer.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace cs = capstan;

constexpr int kSteps = 469;  // per epoch: 60,000 images in batches of 128

struct Classifier : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(one->forward(x.flatten(1)));
    x = torch::relu(two->forward(x));
    return out->forward(x);
  }
  torch::nn::Linear one = register_module("one", torch::nn::Linear(784, 256));
  torch::nn::Linear two = register_module("two", torch::nn::Linear(256, 128));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(128, 10));
};

cs::Dataset Images(const std::string& which) {
  const std::string base = "/usr/share/datasets/fashion-mnist/" + which;
  return cs::Dataset::Idx(base + "-images-idx3-ubyte.gz",
                          base + "-labels-idx1-ubyte.gz", {.scale = true});
}

int main(int argc, char** argv) {
  cs::Program program(argc, argv);
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 8;
  const std::string run = argc > 2 ? argv[2] : "runs/fashion_mnist";
  auto model = cs::AddModel(program, "classifier", [] {
    torch::manual_seed(1);
    return std::make_shared<Classifier>();
  });
  auto train = program.AddDataset("train", [](const cs::InputContext&) {
    return Images("train").Shuffle(60'000).Batch(128).Prefetch(2);
  });
  auto test = program.AddDataset("test", [](const cs::InputContext&) {
    return Images("t10k").Batch(500);
  });
  return program.Run([&](cs::Cluster& cluster) {
    const cs::CosineDecay rate{.initial = 1e-3, .steps = epochs * kSteps};
    cs::Trainer trainer(cluster, model,
                        {.optimizer = cs::Adam{.learning_rate = rate},
                         .loss = cs::SparseCategoricalCrossentropy{},
                         .metrics = {cs::Accuracy{}}});
    trainer.Fit(train, {.epochs = epochs,
                        .validation_data = test,
                        .callbacks = {cs::TensorBoard(run + "/tensorboard")},
                        .checkpoint = {.directory = run + "/checkpoints"},
                        .run_directory = run});
    const auto result = trainer.Evaluate(test);
    std::printf("test accuracy %.4f after %d steps\n", result.at("accuracy"),
                static_cast<int>(trainer.iterations()));
  });
}
