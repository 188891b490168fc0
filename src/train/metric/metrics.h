// Functions that make the state of each metric.
#pragma once

#include <memory>

#include "capstan/trainer.h"
#include "train/metric/metric_batch.h"

namespace capstan {

// A weighted mean over examples; the state is the weighted sum and the total
// weight.
class MeanOverExamples : public MetricState {
 public:
  void Update(const MetricInput& input) final;
  std::vector<double> State() const final { return {sum_, weight_}; }
  void Merge(std::span<const double> state) final;
  double Result() const override { return weight_ == 0 ? 0 : sum_ / weight_; }
  void Reset() final { sum_ = weight_ = 0; }

 protected:
  // Throws kInvalidArgument if the metric cannot be computed for such a batch.
  virtual void Check(const MetricBatch& batch) const = 0;
  virtual double Of(const MetricBatch& batch, size_t example) const = 0;

 private:
  double sum_ = 0;
  double weight_ = 0;
};

// Throws kInvalidArgument unless `state` has `size` numbers.
void RequireStateSize(std::span<const double> state, size_t size);

enum class AccuracyKind { kByShape, kBinary, kCategorical, kSparse };

// `threshold` applies to the binary kind.
std::unique_ptr<MetricState> MakeAccuracy(AccuracyKind kind, double threshold,
                                          bool from_logits);
std::unique_ptr<MetricState> MakeTopKAccuracy(int k);
std::unique_ptr<MetricState> MakeAuc(int thresholds, bool from_logits);
std::unique_ptr<MetricState> MakePrecision(double threshold, bool from_logits);
std::unique_ptr<MetricState> MakeRecall(double threshold, bool from_logits);
std::unique_ptr<MetricState> MakeMeanSquaredError();
std::unique_ptr<MetricState> MakeRootMeanSquaredError();
std::unique_ptr<MetricState> MakeMeanAbsoluteError();
std::unique_ptr<MetricState> MakeMean();

}  // namespace capstan
