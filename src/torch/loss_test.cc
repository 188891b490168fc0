#include "torch/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "capstan/error.h"

namespace capstan {
namespace {

using torch::tensor;

double Mean(const Loss& loss, const torch::Tensor& predictions,
            const torch::Tensor& targets) {
  const double mean = MeanLoss(loss, predictions, targets, {}).item<double>();
  // The same whichever way it is computed.
  const torch::Tensor each = LossOfEach(loss, predictions, targets, {});
  EXPECT_EQ(each.dim(), 1);
  EXPECT_EQ(each.size(0), predictions.size(0));
  EXPECT_NEAR(each.mean().item<double>(), mean, 1e-6);
  return mean;
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

TEST(LossTest, OfNumbers) {
  const torch::Tensor predictions = tensor({{1.0F}, {-2.0F}});
  const torch::Tensor targets = tensor({3.0F, -2.5F});
  EXPECT_NEAR(Mean(MeanSquaredError{}, predictions, targets), (4 + 0.25) / 2,
              1e-6);
  EXPECT_NEAR(Mean(MeanAbsoluteError{}, predictions, targets), (2 + 0.5) / 2,
              1e-6);
  EXPECT_NEAR(Mean(Huber{.delta = 1}, predictions, targets),
              (1 * (2 - 0.5) + 0.125) / 2, 1e-6);
}

TEST(LossTest, HingeTakesBothKindsOfTargets) {
  const torch::Tensor predictions = tensor({0.3F, 2.0F, -0.5F});
  EXPECT_NEAR(Mean(Hinge{}, predictions, tensor({1, 0, 0})),
              (0.7 + 3 + 0.5) / 3, 1e-6);
  EXPECT_NEAR(Mean(Hinge{}, predictions, tensor({1, -1, -1})),
              (0.7 + 3 + 0.5) / 3, 1e-6);
}

TEST(LossTest, BinaryOfLogitsAndOfProbabilities) {
  const torch::Tensor logits = tensor({0.5F, -1.0F});
  const torch::Tensor targets = tensor({1, 0});
  const double expected =
      (-std::log(Logistic(0.5)) - std::log(1 - Logistic(-1))) / 2;
  EXPECT_NEAR(Mean(BinaryCrossentropy{}, logits, targets), expected, 1e-6);
  EXPECT_NEAR(Mean(BinaryCrossentropy{.from_logits = false},
                   torch::sigmoid(logits), targets),
              expected, 1e-6);
}

TEST(LossTest, CategoricalSparseOrNot) {
  const torch::Tensor logits = tensor({{1.0F, 2.0F, 0.0F}, {0.0F, 0.0F, 0.0F}});
  const double sum = std::exp(1) + std::exp(2) + 1;
  const double expected = ((std::log(sum) - 2) + std::log(3)) / 2;
  const torch::Tensor numbers = tensor({1, 0});
  const torch::Tensor one_hot =
      tensor({{0.0F, 1.0F, 0.0F}, {1.0F, 0.0F, 0.0F}});
  EXPECT_NEAR(Mean(SparseCategoricalCrossentropy{}, logits, numbers), expected,
              1e-6);
  EXPECT_NEAR(Mean(CategoricalCrossentropy{}, logits, one_hot), expected, 1e-6);
  const torch::Tensor probabilities = torch::softmax(logits, 1);
  EXPECT_NEAR(Mean(SparseCategoricalCrossentropy{.from_logits = false},
                   probabilities, numbers),
              expected, 1e-6);
  EXPECT_NEAR(Mean(CategoricalCrossentropy{.from_logits = false}, probabilities,
                   one_hot),
              expected, 1e-6);
}

// The values of Keras 3: log(0.5 / 0.8) and log(1 / 4), and the gradient of a
// normalised prediction, which is orthogonal to the prediction.
TEST(LossTest, ProbabilitiesAreNormalised) {
  const torch::Tensor scores =
      torch::tensor({{0.1F, 0.5F, 0.2F}, {1.0F, 2.0F, 1.0F}});
  const double expected = (-std::log(0.5 / 0.8) - std::log(1.0 / 4)) / 2;
  const torch::Tensor numbers = tensor({1, 0});
  const torch::Tensor one_hot =
      tensor({{0.0F, 1.0F, 0.0F}, {1.0F, 0.0F, 0.0F}});
  const torch::Tensor categorical = scores.clone().requires_grad_(true);
  const torch::Tensor sparse = scores.clone().requires_grad_(true);
  EXPECT_NEAR(
      Mean(CategoricalCrossentropy{.from_logits = false}, categorical, one_hot),
      expected, 1e-6);
  EXPECT_NEAR(Mean(SparseCategoricalCrossentropy{.from_logits = false}, sparse,
                   numbers),
              expected, 1e-6);
  MeanLoss(CategoricalCrossentropy{.from_logits = false}, categorical, one_hot,
           {})
      .backward();
  MeanLoss(SparseCategoricalCrossentropy{.from_logits = false}, sparse, numbers,
           {})
      .backward();
  EXPECT_NEAR(categorical.grad()[0][1].item<double>(), (1 / 0.8 - 2) / 2, 1e-6);
  EXPECT_NEAR((categorical.grad() * scores).sum().item<double>(), 0, 1e-6);
  EXPECT_TRUE(torch::allclose(categorical.grad(), sparse.grad()));
}

TEST(LossTest, WhatDoesNotGoTogetherIsNamed) {
  const auto text = [](const Loss& loss, const torch::Tensor& predictions,
                       const torch::Tensor& targets) -> std::string {
    try {
      LossOfEach(loss, predictions, targets, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(text(MeanSquaredError{}, torch::zeros({2, 3}), torch::zeros({2}))
                .find("[2, 3] and targets of shape [2]"),
            std::string::npos);
  EXPECT_NE(text(SparseCategoricalCrossentropy{}, torch::zeros({2, 3}),
                 torch::zeros({2, 3}))
                .find("one class number for each example"),
            std::string::npos);
  EXPECT_NE(
      text(CustomLoss{.name = "mine"}, torch::zeros({2}), torch::zeros({2}))
          .find("no loss 'mine'"),
      std::string::npos);
}

TEST(LossTest, AFunctionOfTheUser) {
  const std::map<std::string, LossFunction> custom = {
      {"cubed",
       [](const torch::Tensor& predictions, const torch::Tensor& targets) {
         return (predictions - targets).pow(3);
       }}};
  const torch::Tensor each = LossOfEach(CustomLoss{.name = "cubed"},
                                        tensor({3.0F}), tensor({1.0F}), custom);
  EXPECT_NEAR(each[0].item<double>(), 8, 1e-6);
}

}  // namespace
}  // namespace capstan
