// The fraction of predictions that are right.
#include <algorithm>
#include <cmath>

#include "train/metric/metrics.h"

namespace capstan {
namespace {

template <typename T>
size_t Largest(std::span<const T> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) -
                             values.begin());
}

class AccuracyState final : public MeanOverExamples {
 public:
  AccuracyState(AccuracyKind kind, double threshold, bool from_logits)
      : kind_(kind), threshold_(threshold), from_logits_(from_logits) {}

 private:
  AccuracyKind KindFor(const MetricBatch& batch) const {
    if (kind_ != AccuracyKind::kByShape) return kind_;
    if (batch.prediction_size == 1) return AccuracyKind::kBinary;
    return batch.target_size == batch.prediction_size
               ? AccuracyKind::kCategorical
               : AccuracyKind::kSparse;
  }

  void Check(const MetricBatch& batch) const override {
    if (KindFor(batch) == AccuracyKind::kSparse) {
      batch.RequireClassNumbers();
    } else {
      batch.RequireSameSize();
    }
  }

  double Of(const MetricBatch& batch, size_t example) const override {
    const std::span<const float> prediction = batch.Prediction(example);
    const std::span<const double> target = batch.Target(example);
    switch (KindFor(batch)) {
      case AccuracyKind::kSparse:
        return static_cast<double>(Largest(prediction)) == target[0] ? 1 : 0;
      case AccuracyKind::kCategorical:
        return Largest(prediction) == Largest(target) ? 1 : 0;
      default:
        break;
    }
    size_t right = 0;
    for (size_t i = 0; i < prediction.size(); ++i) {
      const auto raw = static_cast<double>(prediction[i]);
      const double score = from_logits_ ? Logistic(raw) : raw;
      right += (score > threshold_) == (target[i] > 0.5) ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(prediction.size());
  }

  const AccuracyKind kind_;
  const double threshold_;
  const bool from_logits_;
};

class TopKState final : public MeanOverExamples {
 public:
  explicit TopKState(int k) : k_(static_cast<size_t>(k)) {}

 private:
  void Check(const MetricBatch& batch) const override {
    if (batch.target_size != batch.prediction_size) {
      batch.RequireClassNumbers();
    }
  }

  double Of(const MetricBatch& batch, size_t example) const override {
    const std::span<const float> prediction = batch.Prediction(example);
    const std::span<const double> target = batch.Target(example);
    const double number =
        target.size() == 1 ? target[0] : static_cast<double>(Largest(target));
    if (!(number >= 0 && number < static_cast<double>(prediction.size()))) {
      return 0;
    }
    const float own = prediction[static_cast<size_t>(number)];
    if (!std::isfinite(own)) return 0;
    const auto above =
        std::count_if(prediction.begin(), prediction.end(),
                      [own](float other) { return other > own; });
    return static_cast<size_t>(above) < k_ ? 1 : 0;
  }

  const size_t k_;
};

}  // namespace

std::unique_ptr<MetricState> MakeAccuracy(AccuracyKind kind, double threshold,
                                          bool from_logits) {
  return std::make_unique<AccuracyState>(kind, threshold, from_logits);
}

std::unique_ptr<MetricState> MakeTopKAccuracy(int k) {
  return std::make_unique<TopKState>(k);
}

}  // namespace capstan
