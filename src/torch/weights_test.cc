#include "torch/weights.h"

#include <gtest/gtest.h>

#include <vector>

namespace capstan {
namespace {

// Squared errors of 1, 4 and 9; weights of 2, 0 and 4, the last by its class.
// As in Keras: 38 / 3, not 38 / 6.
TEST(WeightsTest, TheLossIsTheWeightedSumOverTheNumberOfExamples) {
  const Tensor target = Tensor::FromValues<float>({3}, {0, 0, 1});
  const Example batch(
      {{"y", target},
       {"sample_weight", Tensor::FromValues<float>({3}, {2, 0, 2})}});
  const torch::Tensor predictions = torch::tensor({1.0F, 2.0F, 4.0F});
  StepConfig order;
  order.loss = MeanSquaredError{};
  order.class_weights = {{1, 2.0}};
  const WeightedLoss loss = ComputeLoss(order, predictions, target, batch, {});
  EXPECT_NEAR(loss.mean.item<double>(), 38.0 / 3, 1e-5);
  StepReport report;
  AddToReport(loss, predictions, target, {}, report);
  EXPECT_EQ(report.examples, 3U);
  EXPECT_NEAR(report.loss_sum / report.weight_sum, 38.0 / 3, 1e-5);
}

}  // namespace
}  // namespace capstan
