// Mean errors of the predictions.
#include <cmath>

#include "train/metric/metrics.h"

namespace capstan {
namespace {

class SquaredError : public MeanOverExamples {
 private:
  void Check(const MetricBatch& batch) const override {
    batch.RequireSameSize();
  }
  double Of(const MetricBatch& batch, size_t example) const override {
    const std::span<const float> prediction = batch.Prediction(example);
    const std::span<const double> target = batch.Target(example);
    double sum = 0;
    for (size_t i = 0; i < prediction.size(); ++i) {
      const double error = static_cast<double>(prediction[i]) - target[i];
      sum += error * error;
    }
    return sum / static_cast<double>(prediction.size());
  }
};

class RootSquaredError final : public SquaredError {
 public:
  double Result() const override { return std::sqrt(SquaredError::Result()); }
};

class AbsoluteError final : public MeanOverExamples {
  void Check(const MetricBatch& batch) const override {
    batch.RequireSameSize();
  }
  double Of(const MetricBatch& batch, size_t example) const override {
    const std::span<const float> prediction = batch.Prediction(example);
    const std::span<const double> target = batch.Target(example);
    double sum = 0;
    for (size_t i = 0; i < prediction.size(); ++i) {
      sum += std::abs(static_cast<double>(prediction[i]) - target[i]);
    }
    return sum / static_cast<double>(prediction.size());
  }
};

class MeanPrediction final : public MeanOverExamples {
  void Check(const MetricBatch& /*batch*/) const override {}
  double Of(const MetricBatch& batch, size_t example) const override {
    const std::span<const float> prediction = batch.Prediction(example);
    double sum = 0;
    for (const float value : prediction) sum += static_cast<double>(value);
    return sum / static_cast<double>(prediction.size());
  }
};

}  // namespace

std::unique_ptr<MetricState> MakeMeanSquaredError() {
  return std::make_unique<SquaredError>();
}

std::unique_ptr<MetricState> MakeRootMeanSquaredError() {
  return std::make_unique<RootSquaredError>();
}

std::unique_ptr<MetricState> MakeMeanAbsoluteError() {
  return std::make_unique<AbsoluteError>();
}

std::unique_ptr<MetricState> MakeMean() {
  return std::make_unique<MeanPrediction>();
}

}  // namespace capstan
