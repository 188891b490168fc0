// The two models of docs/performance.md, and batches for them.
#pragma once

#include <torch/nn.h>
#include <torch/types.h>

#include <cstdint>

#include "capstan/torch.h"

namespace capstan::bench {

// 784-256-128-10, for Fashion-MNIST.
struct Mlp : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return out->forward(
        torch::relu(two->forward(torch::relu(one->forward(x.flatten(1))))));
  }
  torch::nn::Linear one = register_module("one", torch::nn::Linear(784, 256));
  torch::nn::Linear two = register_module("two", torch::nn::Linear(256, 128));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(128, 10));
};
inline constexpr int64_t kMlpBatch = 128;
inline constexpr double kMlpRate = 0.1;

// Clicks: 26 columns into one table of 1,000,000 x 16, 13 numbers, then
// 429-256-128-1. `Table` is where the rows are: torch::nn::Embedding or ours.
inline constexpr int64_t kRows = 1'000'000;
inline constexpr int64_t kDim = 16;
inline constexpr int64_t kColumns = 26;
inline constexpr int64_t kNumbers = 13;
inline constexpr int64_t kClickBatch = 512;
inline constexpr double kClickRate = 0.05;

struct ClickTower : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& rows,
                        const torch::Tensor& numbers) {
    const torch::Tensor x = torch::cat({rows.flatten(1), numbers}, 1);
    return out->forward(torch::relu(two->forward(torch::relu(one->forward(x)))))
        .squeeze(1);
  }
  torch::nn::Linear one =
      register_module("one", torch::nn::Linear(kColumns* kDim + kNumbers, 256));
  torch::nn::Linear two = register_module("two", torch::nn::Linear(256, 128));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(128, 1));
};

struct ClickModel : torch::nn::Module {
  torch::Tensor forward(const TorchBatch& batch) {
    return tower->forward(table->forward(batch["ids"]), batch["x"]);
  }
  Embedding table = register_module("table", Embedding(kRows, kDim));
  std::shared_ptr<ClickTower> tower =
      register_module("tower", std::make_shared<ClickTower>());
};

}  // namespace capstan::bench
