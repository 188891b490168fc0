#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "train/metric/metrics.h"

namespace capstan {

MetricState::~MetricState() = default;

void RequireStateSize(std::span<const double> state, size_t size) {
  if (state.size() == size) return;
  throw Error(ErrorCode::kInvalidArgument,
              absl::StrCat("the state of a metric with ", state.size(),
                           " numbers instead of ", size,
                           ": are all tasks the same program?"));
}

void MeanOverExamples::Update(const MetricInput& input) {
  const MetricBatch batch(input);
  Check(batch);
  for (size_t i = 0; i < batch.examples; ++i) {
    const double weight = batch.Weight(i);
    sum_ += weight * Of(batch, i);
    weight_ += weight;
  }
}

void MeanOverExamples::Merge(std::span<const double> state) {
  RequireStateSize(state, 2);
  sum_ += state[0];
  weight_ += state[1];
}

}  // namespace capstan
