// Every rule that libtorch has too, for a hundred updates side by side. (The
// others, which its C++ interface lacks, are compared with their formulas in
// src/optimizer/*_test.cc.) All in one file, since its headers take so long.
#include <gtest/gtest.h>
#include <torch/optim.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "optimizer/updater.h"

namespace capstan {
namespace {

constexpr size_t kSize = 1001;
constexpr int kUpdates = 100;
constexpr double kRate = 0.03;
constexpr double kMaxError = 1e-5;

std::vector<float> RandomNumbers(Random& random) {
  std::vector<float> numbers(kSize);
  for (float& number : numbers) {
    number = static_cast<float>(2 * random.Uniform() - 1);
  }
  return numbers;
}

// A variable on which an updater works.
class Variable {
 public:
  Variable(const Optimizer& optimizer, std::vector<float> value)
      : updater_(Updater::Make(optimizer).value()), value_(std::move(value)) {
    for (const SlotInfo& slot : updater_->slots()) {
      slots_.emplace_back(kSize, slot.initial);
    }
  }

  void Update(const std::vector<float>& gradient) {
    DenseUpdate update = {
        .gradient = reinterpret_cast<const std::byte*>(gradient.data()),
        .size = kSize,
        .value_in = value_.data(),
        .value_out = value_.data()};
    for (size_t s = 0; s < slots_.size(); ++s) {
      update.slots_in[s] = update.slots_out[s] = slots_[s].data();
    }
    updater_->Dense(updater_->Begin(state_, 1, 0), update);
    updater_->Advance(state_);
  }

  const std::vector<float>& value() const { return value_; }

 private:
  const std::unique_ptr<const Updater> updater_;
  OptimizerState state_;
  std::vector<float> value_;
  std::vector<std::vector<float>> slots_;
};

torch::Tensor TensorOf(std::vector<float>& numbers) {
  return torch::from_blob(numbers.data(), {static_cast<int64_t>(kSize)})
      .clone();
}

// The largest difference of an element, relative to the largest element.
double ErrorOf(const std::vector<float>& actual, const torch::Tensor& tensor) {
  const float* expected = tensor.data_ptr<float>();
  double difference = 0;
  double largest = 0;
  for (size_t i = 0; i < kSize; ++i) {
    difference =
        std::max(difference, std::fabs(double{actual[i]} - expected[i]));
    largest = std::max(largest, std::fabs(double{expected[i]}));
  }
  return difference / largest;
}

template <typename TorchOptimizer, typename TorchOptions>
void ExpectSame(const Optimizer& optimizer, const TorchOptions& options) {
  torch::NoGradGuard no_grad;
  Random random(1);
  std::vector<float> start = RandomNumbers(random);
  Variable variable(optimizer, start);
  torch::Tensor tensor = TensorOf(start).set_requires_grad(true);
  TorchOptimizer torch_optimizer({tensor}, options);
  for (int t = 0; t < kUpdates; ++t) {
    std::vector<float> gradient = RandomNumbers(random);
    variable.Update(gradient);
    tensor.mutable_grad() = TensorOf(gradient);
    torch_optimizer.step();
  }
  EXPECT_LE(ErrorOf(variable.value(), tensor), kMaxError);
  // That both moved, and by how much more than the error.
  EXPECT_GE(ErrorOf(start, tensor), 1000 * kMaxError);
}

Optimizer WithDecay(Optimizer optimizer, double weight_decay) {
  optimizer.weight_decay = weight_decay;
  return optimizer;
}

TEST(OptimizersTorchTest, Sgd) {
  ExpectSame<torch::optim::SGD>(Sgd{.learning_rate = kRate},
                                torch::optim::SGDOptions(kRate));
}

TEST(OptimizersTorchTest, WeightDecay) {
  ExpectSame<torch::optim::SGD>(
      WithDecay(Sgd{.learning_rate = kRate}, 0.1),
      torch::optim::SGDOptions(kRate).weight_decay(0.1));
}

TEST(OptimizersTorchTest, Momentum) {
  ExpectSame<torch::optim::SGD>(
      Momentum{.learning_rate = kRate, .momentum = 0.9},
      torch::optim::SGDOptions(kRate).momentum(0.9));
}

TEST(OptimizersTorchTest, Nesterov) {
  ExpectSame<torch::optim::SGD>(
      Momentum{.learning_rate = kRate, .momentum = 0.9, .nesterov = true},
      torch::optim::SGDOptions(kRate).momentum(0.9).nesterov(true));
}

TEST(OptimizersTorchTest, Adagrad) {
  ExpectSame<torch::optim::Adagrad>(
      Adagrad{
          .learning_rate = kRate, .initial_accumulator = 0.1, .epsilon = 1e-7},
      torch::optim::AdagradOptions(kRate).initial_accumulator_value(0.1).eps(
          1e-7));
}

torch::optim::RMSpropOptions RmsPropOptions() {
  return torch::optim::RMSpropOptions(kRate).alpha(0.9).eps(1e-7);
}

TEST(OptimizersTorchTest, RmsProp) {
  ExpectSame<torch::optim::RMSprop>(
      RmsProp{.learning_rate = kRate, .rho = 0.9, .epsilon = 1e-7},
      RmsPropOptions());
}

TEST(OptimizersTorchTest, RmsPropWithMomentum) {
  ExpectSame<torch::optim::RMSprop>(
      RmsProp{
          .learning_rate = kRate, .rho = 0.9, .momentum = 0.8, .epsilon = 1e-7},
      RmsPropOptions().momentum(0.8));
}

TEST(OptimizersTorchTest, RmsPropCentered) {
  ExpectSame<torch::optim::RMSprop>(
      RmsProp{.learning_rate = kRate,
              .rho = 0.9,
              .momentum = 0.8,
              .epsilon = 1e-7,
              .centered = true},
      RmsPropOptions().momentum(0.8).centered(true));
}

torch::optim::AdamOptions AdamOptions() {
  return torch::optim::AdamOptions(kRate)
      .betas(std::make_tuple(0.9, 0.99))
      .eps(1e-7);
}

TEST(OptimizersTorchTest, Adam) {
  ExpectSame<torch::optim::Adam>(
      Adam{.learning_rate = kRate, .beta2 = 0.99, .epsilon = 1e-7},
      AdamOptions());
}

TEST(OptimizersTorchTest, AdamWithWeightDecay) {
  ExpectSame<torch::optim::Adam>(
      WithDecay(Adam{.learning_rate = kRate, .beta2 = 0.99, .epsilon = 1e-7},
                0.1),
      AdamOptions().weight_decay(0.1));
}

TEST(OptimizersTorchTest, AdamWithAmsgrad) {
  ExpectSame<torch::optim::Adam>(Adam{.learning_rate = kRate,
                                      .beta2 = 0.99,
                                      .epsilon = 1e-7,
                                      .amsgrad = true},
                                 AdamOptions().amsgrad(true));
}

torch::optim::AdamWOptions AdamWOptions() {
  return torch::optim::AdamWOptions(kRate)
      .betas(std::make_tuple(0.9, 0.99))
      .eps(1e-7)
      .weight_decay(0.1);
}

TEST(OptimizersTorchTest, AdamW) {
  ExpectSame<torch::optim::AdamW>(AdamW{.learning_rate = kRate,
                                        .weight_decay = 0.1,
                                        .beta2 = 0.99,
                                        .epsilon = 1e-7},
                                  AdamWOptions());
}

TEST(OptimizersTorchTest, AdamWWithAmsgrad) {
  ExpectSame<torch::optim::AdamW>(AdamW{.learning_rate = kRate,
                                        .weight_decay = 0.1,
                                        .beta2 = 0.99,
                                        .epsilon = 1e-7,
                                        .amsgrad = true},
                                  AdamWOptions().amsgrad(true));
}

}  // namespace
}  // namespace capstan
