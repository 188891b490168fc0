// Small models, and the same training by libtorch alone.
#pragma once

#include <torch/nn.h>
#include <torch/optim.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capstan/dataset.h"
#include "capstan/error.h"
#include "capstan/program.h"
#include "capstan/torch.h"
#include "capstan/trainer.h"

namespace capstan::testing {

struct Net : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return two->forward(torch::tanh(one->forward(x)));
  }
  torch::nn::Linear one = register_module("one", torch::nn::Linear(4, 8));
  torch::nn::Linear two = register_module("two", torch::nn::Linear(8, 1));
};

// Numbers between -1 and 1, the same each time. Not libtorch's random ones:
// their seed is one for all threads, and so for all tasks of a LocalCluster.
inline torch::Tensor Numbers(torch::IntArrayRef sizes) {
  const torch::Tensor count = torch::empty(sizes);
  return torch::sin(1.7 * torch::arange(count.numel()).square())
      .reshape(sizes)
      .to(torch::kFloat32);
}

// Gives all parameters the same values each time.
template <typename M>
std::shared_ptr<M> Fixed(std::shared_ptr<M> module) {
  const torch::NoGradGuard no_gradients;
  for (torch::Tensor& parameter : module->parameters()) {
    parameter.copy_(0.5 * Numbers(parameter.sizes()));
  }
  return module;
}
template <typename M>
std::shared_ptr<M> Make() {
  return Fixed(std::make_shared<M>());
}

// `rows` examples of "x", [4], and "y".
inline Example Points(int64_t rows) {
  const torch::Tensor x = 1.5 * Numbers({rows, 4});
  const torch::Tensor y = torch::sin(x.sum(1)) + x.select(1, 0);
  return Example({{"x", FromTorch(x)}, {"y", FromTorch(y)}});
}

// Points that are enough for so many steps, and the rate to train with.
inline constexpr int64_t kBatch = 8;
inline constexpr int64_t kBatches = 12;
inline constexpr double kRate = 0.05;
inline Dataset Batches() {
  return Dataset::FromTensors(Points(kBatch * kBatches)).Batch(kBatch);
}

// What a model's parameters are after `run` has trained it alone.
template <typename M, typename Run>
std::map<std::string, Tensor> Alone(const std::string& model, const Run& run) {
  const std::shared_ptr<M> module = Make<M>();
  run(*module);
  std::map<std::string, Tensor> values;
  for (const auto& item : module->named_parameters()) {
    values[model + "/" + item.key()] = FromTorch(item.value());
  }
  for (const auto& item : module->named_buffers()) {
    values[model + "/" + item.key()] = FromTorch(item.value());
  }
  return values;
}

// The text of the Error that `function` throws; empty if it throws none.
template <typename F>
std::string ErrorOf(const F& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace capstan::testing
