// Shared by the tests of the metrics. Test-only.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "capstan/trainer.h"

namespace capstan {

// A metric with the batches it has seen.
class MetricOver {
 public:
  explicit MetricOver(const MetricSpec& metric,
                      const Loss& loss = MeanSquaredError{})
      : state_(MakeMetric(metric, loss)) {}

  MetricOver& Add(const Tensor& targets, const Tensor& predictions,
                  const std::vector<float>& weights = {}) {
    state_->Update({targets.view(), predictions.view(), weights});
    return *this;
  }
  MetricOver& Merge(const MetricOver& other) {
    state_->Merge(other.state_->State());
    return *this;
  }
  double Result() const { return state_->Result(); }
  MetricState& state() { return *state_; }

 private:
  std::unique_ptr<MetricState> state_;
};

inline Tensor F32(const Shape& shape, const std::vector<float>& values) {
  return Tensor::FromValues(shape, values);
}
inline Tensor I64(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::FromValues(shape, values);
}

}  // namespace capstan
