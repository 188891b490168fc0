#include "bench_train/plain.h"

#include <ATen/Parallel.h>
#include <torch/optim.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "bench_train/data.h"
#include "bench_train/models.h"

namespace capstan::bench {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(const std::function<void()>& run) {
  const Clock::time_point start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double Rate(int steps, int64_t batch, const std::function<void()>& step) {
  for (int i = 0; i < std::max(steps / 10, 5); ++i) step();
  const double seconds = Seconds([&] {
    for (int i = 0; i < steps; ++i) step();
  });
  return static_cast<double>(steps * batch) / seconds;
}

}  // namespace

double TrainMlpPlain(int steps) {
  at::set_num_threads(1);
  const auto next = Images().Shuffle(60'000).Repeat().Batch(kMlpBatch).Open();
  auto model = std::make_shared<Mlp>();
  torch::optim::SGD optimizer(model->parameters(), kMlpRate);
  return Rate(steps, kMlpBatch, [&] {
    const std::optional<Example> batch = next();
    optimizer.zero_grad();
    const torch::Tensor loss = torch::nll_loss(
        torch::log_softmax(model->forward(ToTorch((*batch)["x"])), 1),
        ToTorch((*batch)["y"]));
    loss.backward();
    optimizer.step();
  });
}

double TrainClicksPlain(int steps) {
  at::set_num_threads(1);
  const auto next =
      Clicks().Shuffle(64 * kClickBatch).Repeat().Batch(kClickBatch).Open();
  auto tower = std::make_shared<ClickTower>();
  // Sparse gradients, like ours: for the whole table they would be 64 MB a
  // step.
  torch::nn::Embedding table(
      torch::nn::EmbeddingOptions(kRows, kDim).sparse(true));
  std::vector<torch::Tensor> parameters = tower->parameters();
  parameters.push_back(table->weight);
  torch::optim::SGD optimizer(parameters, kClickRate);
  return Rate(steps, kClickBatch, [&] {
    const std::optional<Example> batch = next();
    optimizer.zero_grad();
    const torch::Tensor predictions = tower->forward(
        table->forward(ToTorch((*batch)["ids"])), ToTorch((*batch)["x"]));
    const torch::Tensor loss = torch::binary_cross_entropy_with_logits(
        predictions, ToTorch((*batch)["y"]));
    loss.backward();
    optimizer.step();
  });
}

double MlpAccuracyPlain(int epochs, int seed) {
  at::set_num_threads(1);
  torch::manual_seed(static_cast<uint64_t>(seed));
  auto model = std::make_shared<Mlp>();
  torch::optim::SGD optimizer(model->parameters(), kMlpRate);
  // In the order that Fit uses, so that only the training differs.
  const ExampleTable data =
      ExampleTable::Open(Images().Shuffle(60'000).Batch(kMlpBatch));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int64_t i = 0; i < data.size(); ++i) {
      const Example batch = data.At(i, static_cast<uint64_t>(epoch));
      optimizer.zero_grad();
      torch::nll_loss(
          torch::log_softmax(model->forward(ToTorch(batch["x"])), 1),
          ToTorch(batch["y"]))
          .backward();
      optimizer.step();
    }
  }
  const torch::NoGradGuard no_gradients;
  int64_t right = 0;
  int64_t all = 0;
  const auto next = TestImages().Batch(500).Open();
  while (const std::optional<Example> batch = next()) {
    const torch::Tensor found =
        model->forward(ToTorch((*batch)["x"])).argmax(1);
    right += found.eq(ToTorch((*batch)["y"])).sum().item<int64_t>();
    all += found.numel();
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

double SgemmGflops() {
  at::set_num_threads(1);
  const torch::NoGradGuard no_gradients;
  const torch::Tensor a = torch::rand({512, 512});
  const torch::Tensor b = torch::rand({512, 512});
  torch::Tensor c = torch::empty({512, 512});
  double best = 0;
  for (int i = 0; i < 30; ++i) {
    const double seconds = Seconds([&] { torch::mm_out(c, a, b); });
    best = std::max(best, 2.0 * 512 * 512 * 512 / seconds / 1e9);
  }
  return best;
}

}  // namespace capstan::bench
