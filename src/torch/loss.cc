#include "torch/loss.h"

#include <torch/nn/functional.h>

#include <sstream>

#include "capstan/error.h"

namespace capstan {
namespace {

namespace F = torch::nn::functional;

[[noreturn]] void ThrowShapes(const char* loss,
                              const torch::Tensor& predictions,
                              const torch::Tensor& targets,
                              const char* wanted) {
  std::ostringstream text;
  text << loss << ": predictions of shape " << predictions.sizes()
       << " and targets of shape " << targets.sizes() << "; " << wanted;
  throw Error(ErrorCode::kInvalidArgument, text.str());
}

// Targets as floats in the shape of the predictions, which may have one
// additional axis of size 1.
torch::Tensor Matched(const char* loss, const torch::Tensor& predictions,
                      const torch::Tensor& targets) {
  if (targets.numel() != predictions.numel() ||
      targets.size(0) != predictions.size(0)) {
    ThrowShapes(loss, predictions, targets, "they must be alike");
  }
  return targets.to(predictions.scalar_type()).reshape(predictions.sizes());
}

// The mean over all axes but the first.
torch::Tensor PerExample(const torch::Tensor& losses) {
  return losses.dim() <= 1 ? losses : losses.flatten(1).mean(1);
}

torch::Tensor ClassNumbers(const torch::Tensor& predictions,
                           const torch::Tensor& targets) {
  if (predictions.dim() != 2 || targets.numel() != predictions.size(0)) {
    ThrowShapes("SparseCategoricalCrossentropy", predictions, targets,
                "predictions have one score for each class, targets are one "
                "class number for each example");
  }
  return targets.to(torch::kInt64).reshape({-1});
}

// Clips probabilities, as in Keras.
constexpr double kEpsilon = 1e-7;

// The logarithms of the class probabilities; classes are in the last axis.
torch::Tensor LogsOf(const torch::Tensor& predictions, bool from_logits) {
  if (from_logits) return torch::log_softmax(predictions, -1);
  const torch::Tensor sums = predictions.sum(-1, /*keepdim=*/true);
  return (predictions / sums).clamp(kEpsilon, 1 - kEpsilon).log();
}

struct Each {
  const torch::Tensor& predictions;
  const torch::Tensor& targets;
  const std::map<std::string, LossFunction>& custom;

  torch::Tensor operator()(const MeanSquaredError&) const {
    const torch::Tensor wanted =
        Matched("MeanSquaredError", predictions, targets);
    return PerExample((predictions - wanted).square());
  }
  torch::Tensor operator()(const MeanAbsoluteError&) const {
    const torch::Tensor wanted =
        Matched("MeanAbsoluteError", predictions, targets);
    return PerExample((predictions - wanted).abs());
  }
  torch::Tensor operator()(const Huber& huber) const {
    const torch::Tensor wanted = Matched("Huber", predictions, targets);
    return PerExample(F::huber_loss(
        predictions, wanted,
        F::HuberLossFuncOptions().reduction(torch::kNone).delta(huber.delta)));
  }
  torch::Tensor operator()(const Hinge&) const {
    torch::Tensor wanted = Matched("Hinge", predictions, targets);
    wanted = torch::where(wanted > 0, torch::ones_like(wanted),
                          -torch::ones_like(wanted));
    return PerExample(torch::relu(1 - wanted * predictions));
  }
  torch::Tensor operator()(const BinaryCrossentropy& loss) const {
    const torch::Tensor wanted =
        Matched("BinaryCrossentropy", predictions, targets);
    if (loss.from_logits) {
      return PerExample(torch::binary_cross_entropy_with_logits(
          predictions, wanted, {}, {}, torch::Reduction::None));
    }
    return PerExample(
        torch::binary_cross_entropy(predictions.clamp(kEpsilon, 1 - kEpsilon),
                                    wanted, {}, torch::Reduction::None));
  }
  torch::Tensor operator()(const CategoricalCrossentropy& loss) const {
    const torch::Tensor wanted =
        Matched("CategoricalCrossentropy", predictions, targets);
    const torch::Tensor logs = LogsOf(predictions, loss.from_logits);
    return PerExample(-(wanted * logs).sum(-1));
  }
  torch::Tensor operator()(const SparseCategoricalCrossentropy& loss) const {
    const torch::Tensor numbers = ClassNumbers(predictions, targets);
    const torch::Tensor logs = LogsOf(predictions, loss.from_logits);
    return torch::nll_loss(logs, numbers, {}, torch::Reduction::None);
  }
  torch::Tensor operator()(const CustomLoss& loss) const {
    const auto found = custom.find(loss.name);
    if (found == custom.end()) {
      throw Error(ErrorCode::kNotFound,
                  "there is no loss '" + loss.name +
                      "': give it to AddModel, in TorchOptions::losses");
    }
    const torch::Tensor each = found->second(predictions, targets);
    if (each.dim() > 1) {
      ThrowShapes(loss.name.c_str(), each, targets,
                  "a loss is one number for each example, or one for all");
    }
    return each;
  }
};

}  // namespace

torch::Tensor LossOfEach(const Loss& loss, const torch::Tensor& predictions,
                         const torch::Tensor& targets,
                         const std::map<std::string, LossFunction>& custom) {
  return std::visit(Each{predictions, targets, custom}, loss);
}

torch::Tensor MeanLoss(const Loss& loss, const torch::Tensor& predictions,
                       const torch::Tensor& targets,
                       const std::map<std::string, LossFunction>& custom) {
  const auto* sparse = std::get_if<SparseCategoricalCrossentropy>(&loss);
  if (sparse != nullptr && sparse->from_logits) {
    return torch::nll_loss(torch::log_softmax(predictions, 1),
                           ClassNumbers(predictions, targets));
  }
  const auto* binary = std::get_if<BinaryCrossentropy>(&loss);
  if (binary != nullptr && binary->from_logits) {
    return torch::binary_cross_entropy_with_logits(
        predictions, Matched("BinaryCrossentropy", predictions, targets));
  }
  const torch::Tensor each = LossOfEach(loss, predictions, targets, custom);
  return each.dim() == 0 ? each : each.mean();
}

}  // namespace capstan
