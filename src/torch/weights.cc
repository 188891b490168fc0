#include "torch/weights.h"

#include "capstan/error.h"
#include "torch/dtype.h"
#include "torch/loss.h"

namespace capstan {
namespace {

// The class of each example: the target itself, or the index of the largest
// element of a one-hot target.
torch::Tensor ClassesOf(const torch::Tensor& targets) {
  if (targets.dim() > 1 && targets.numel() != targets.size(0)) {
    return targets.argmax(1);
  }
  return targets.reshape({-1}).to(torch::kInt64);
}

torch::Tensor WeightsOf(const StepConfig& order, const torch::Tensor& targets,
                        const Example& batch) {
  torch::Tensor weights;
  const std::string column =
      order.weight.empty() ? "sample_weight" : order.weight;
  if (!order.weight.empty() || batch.Contains(column)) {
    weights = ToTorch(batch[column]).to(torch::kFloat32).reshape({-1});
    if (weights.numel() != targets.size(0)) {
      throw Error(ErrorCode::kInvalidArgument,
                  "column '" + column + "' has " +
                      std::to_string(weights.numel()) + " weights for " +
                      std::to_string(targets.size(0)) + " examples");
    }
  }
  if (order.class_weights.empty()) return weights;
  const torch::Tensor classes = ClassesOf(targets).contiguous();
  torch::Tensor by_class = torch::ones({classes.numel()});
  for (int64_t i = 0; i < classes.numel(); ++i) {
    const auto found = order.class_weights.find(classes.data_ptr<int64_t>()[i]);
    if (found == order.class_weights.end()) continue;
    by_class.data_ptr<float>()[i] = static_cast<float>(found->second);
  }
  return weights.defined() ? weights * by_class : by_class;
}

}  // namespace

WeightedLoss ComputeLoss(const StepConfig& order, const torch::Tensor& output,
                         const Tensor& target, const Example& batch,
                         const std::map<std::string, LossFunction>& custom) {
  const torch::Tensor targets = ToTorch(target);
  // Computed in f16 or bf16, losses would be off by a percent or overflow.
  const torch::Tensor predictions =
      IsHalf(output) ? output.to(torch::kFloat32) : output;
  if (targets.dim() == 0 || predictions.dim() == 0 ||
      targets.size(0) != predictions.size(0)) {
    throw Error(ErrorCode::kInvalidArgument,
                "the model gives predictions of shape " +
                    ShapeOf(predictions).ToString() + " for targets of shape " +
                    target.shape().ToString() +
                    "; the first axis of both is that of the examples");
  }
  WeightedLoss loss;
  loss.weights = WeightsOf(order, targets, batch);
  if (!loss.weights.defined()) {
    loss.mean = MeanLoss(order.loss, predictions, targets, custom);
    return loss;
  }
  const torch::Tensor each =
      LossOfEach(order.loss, predictions, targets, custom);
  if (each.dim() == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "examples have weights, and the loss is one number for all: "
                "let it return the loss of each example");
  }
  loss.mean = (each * loss.weights).mean();
  return loss;
}

void AddToReport(const WeightedLoss& loss, const torch::Tensor& predictions,
                 const Tensor& target,
                 std::span<const std::unique_ptr<MetricState>> metrics,
                 StepReport& report) {
  const auto examples = static_cast<uint64_t>(predictions.size(0));
  report.batches += 1;
  report.examples += examples;
  report.weight_sum += static_cast<double>(examples);
  report.loss_sum += loss.mean.item<double>() * static_cast<double>(examples);
  if (metrics.empty()) return;
  const torch::Tensor dense =
      predictions.detach().to(torch::kFloat32).contiguous();
  const MetricInput input{
      .targets = target.view(),
      .predictions = ViewOf(dense),
      .weights = loss.weights.defined()
                     ? std::span<const float>(
                           loss.weights.data_ptr<float>(),
                           static_cast<size_t>(loss.weights.numel()))
                     : std::span<const float>()};
  for (const auto& metric : metrics) metric->Update(input);
}

}  // namespace capstan
