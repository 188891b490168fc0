// The loss of a batch with weighted examples.
#pragma once

#include <torch/types.h>

#include <map>
#include <memory>
#include <span>
#include <string>

#include "capstan/torch.h"
#include "capstan/trainer.h"

namespace capstan {

struct WeightedLoss {
  torch::Tensor mean;     // what backward starts from
  torch::Tensor weights;  // one for each example; undefined: all are 1
};

// The mean of the examples' losses, each multiplied by the weight of its class
// and by its weight in the batch. Throws kInvalidArgument for weights that do
// not fit.
WeightedLoss ComputeLoss(const StepConfig& order,
                         const torch::Tensor& predictions, const Tensor& target,
                         const Example& batch,
                         const std::map<std::string, LossFunction>& custom);

// Adds a batch to the report: its examples, loss and metrics.
void AddToReport(const WeightedLoss& loss, const torch::Tensor& predictions,
                 const Tensor& target,
                 std::span<const std::unique_ptr<MetricState>> metrics,
                 StepReport& report);

}  // namespace capstan
