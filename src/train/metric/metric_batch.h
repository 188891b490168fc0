// One batch as metrics see it: rows of numbers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "capstan/trainer.h"

namespace capstan {

// Valid as long as the input it was made from.
struct MetricBatch {
  // Throws kInvalidArgument, naming the problem, for predictions that are not
  // f32, targets of a non-numeric type, and mismatched numbers of examples.
  explicit MetricBatch(const MetricInput& batch);

  std::span<const float> Prediction(size_t example) const {
    return predictions.subspan(example * prediction_size, prediction_size);
  }
  std::span<const double> Target(size_t example) const {
    return std::span(targets).subspan(example * target_size, target_size);
  }
  double Weight(size_t example) const {
    return weights.empty() ? 1 : static_cast<double>(weights[example]);
  }
  // Throws unless a target has as many numbers as a prediction.
  void RequireSameSize() const;
  // Throws unless a target is one number.
  void RequireClassNumbers() const;

  const MetricInput& input;
  size_t examples = 0;
  size_t prediction_size = 0;  // numbers per example
  size_t target_size = 0;
  std::vector<double> targets;
  std::span<const float> predictions;
  std::span<const float> weights;
};

// 1 / (1 + e^-x).
double Logistic(double x);

}  // namespace capstan
