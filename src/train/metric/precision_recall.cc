// Precision: the fraction of predicted positives that are positive. Recall: the
// fraction of positives that are predicted as such.
#include "train/metric/metrics.h"

namespace capstan {
namespace {

class PrecisionOrRecall final : public MetricState {
 public:
  PrecisionOrRecall(bool recall, double threshold, bool from_logits)
      : recall_(recall), threshold_(threshold), from_logits_(from_logits) {}

  void Update(const MetricInput& input) override {
    const MetricBatch batch(input);
    batch.RequireSameSize();
    for (size_t i = 0; i < batch.examples; ++i) {
      const double weight = batch.Weight(i);
      for (size_t j = 0; j < batch.prediction_size; ++j) {
        const auto raw = static_cast<double>(batch.Prediction(i)[j]);
        const double score = from_logits_ ? Logistic(raw) : raw;
        const bool predicted = score > threshold_;
        const bool is = batch.Target(i)[j] > 0.5;
        if (predicted && is) true_positive_ += weight;
        if (recall_ ? is : predicted) all_ += weight;
      }
    }
  }

  std::vector<double> State() const override { return {true_positive_, all_}; }
  void Merge(std::span<const double> state) override {
    RequireStateSize(state, 2);
    true_positive_ += state[0];
    all_ += state[1];
  }
  double Result() const override {
    return all_ == 0 ? 0 : true_positive_ / all_;
  }
  void Reset() override { true_positive_ = all_ = 0; }

 private:
  const bool recall_;
  const double threshold_;
  const bool from_logits_;
  double true_positive_ = 0;
  double all_ = 0;  // predicted positives, or actual positives
};

}  // namespace

std::unique_ptr<MetricState> MakePrecision(double threshold, bool from_logits) {
  return std::make_unique<PrecisionOrRecall>(false, threshold, from_logits);
}

std::unique_ptr<MetricState> MakeRecall(double threshold, bool from_logits) {
  return std::make_unique<PrecisionOrRecall>(true, threshold, from_logits);
}

}  // namespace capstan
