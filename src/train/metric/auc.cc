// The area under the ROC curve, with the thresholds of Keras: one below 0, one
// above 1, and between them i / (n - 1).
#include <algorithm>

#include "train/metric/metrics.h"

namespace capstan {
namespace {

class AucState final : public MetricState {
 public:
  AucState(int thresholds, bool from_logits)
      : size_(static_cast<size_t>(thresholds)),
        from_logits_(from_logits),
        positive_(size_),
        negative_(size_) {}

  void Update(const MetricInput& input) override {
    const MetricBatch batch(input);
    batch.RequireSameSize();
    for (size_t i = 0; i < batch.examples; ++i) {
      const double weight = batch.Weight(i);
      for (size_t j = 0; j < batch.prediction_size; ++j) {
        const auto raw = static_cast<double>(batch.Prediction(i)[j]);
        const size_t bucket = Bucket(from_logits_ ? Logistic(raw) : raw);
        (batch.Target(i)[j] > 0.5 ? positive_ : negative_)[bucket] += weight;
      }
    }
  }

  std::vector<double> State() const override {
    std::vector<double> state = positive_;
    state.insert(state.end(), negative_.begin(), negative_.end());
    return state;
  }
  void Merge(std::span<const double> state) override {
    RequireStateSize(state, 2 * size_);
    for (size_t i = 0; i < size_; ++i) {
      positive_[i] += state[i];
      negative_[i] += state[size_ + i];
    }
  }

  double Result() const override {
    double all_positive = 0;
    double all_negative = 0;
    for (size_t i = 0; i < size_; ++i) {
      all_positive += positive_[i];
      all_negative += negative_[i];
    }
    // As in Keras, x / 0 is 0, so the area is 0.
    if (all_positive == 0 || all_negative == 0) return 0;
    double area = 0;
    double above_positive = 0;  // above the threshold
    double above_negative = 0;
    // From the highest threshold, above which there is nothing, down.
    for (size_t i = size_; i-- > 0;) {
      const double recall = above_positive / all_positive;
      const double false_rate = above_negative / all_negative;
      above_positive += positive_[i];
      above_negative += negative_[i];
      area += (above_negative / all_negative - false_rate) *
              (above_positive / all_positive + recall) / 2;
    }
    return area;
  }

  void Reset() override {
    std::fill(positive_.begin(), positive_.end(), 0);
    std::fill(negative_.begin(), negative_.end(), 0);
  }

 private:
  // The last threshold that `score` exceeds. NaN counts as 0.
  size_t Bucket(double score) const {
    if (!(score > 0)) return 0;
    if (score >= 1) return size_ - 2;
    const auto steps = static_cast<double>(size_ - 1);
    auto bucket = std::min(static_cast<size_t>(score * steps), size_ - 2);
    while (bucket > 0 && score <= static_cast<double>(bucket) / steps) {
      --bucket;
    }
    while (bucket < size_ - 2 &&
           score > static_cast<double>(bucket + 1) / steps) {
      ++bucket;
    }
    return bucket;
  }

  const size_t size_;
  const bool from_logits_;
  // The weight of scores above threshold i and not above the next.
  std::vector<double> positive_;
  std::vector<double> negative_;
};

}  // namespace

std::unique_ptr<MetricState> MakeAuc(int thresholds, bool from_logits) {
  return std::make_unique<AucState>(thresholds, from_logits);
}

}  // namespace capstan
