#include "train/metric/metric_batch.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"

namespace capstan {
namespace {

template <typename T>
std::vector<double> Widen(const TensorView& view) {
  const std::span<const T> values = view.Values<T>();
  std::vector<double> wide(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    wide[i] = static_cast<double>(values[i]);
  }
  return wide;
}

std::vector<double> Targets(const TensorView& view) {
  switch (view.dtype()) {
    case DType::kF32:
      return Widen<float>(view);
    case DType::kF64:
      return Widen<double>(view);
    case DType::kI32:
      return Widen<int32_t>(view);
    case DType::kI64:
      return Widen<int64_t>(view);
    case DType::kU8:
      return Widen<uint8_t>(view);
    case DType::kBool:
      return Widen<bool>(view);
    default:
      throw Error(
          ErrorCode::kInvalidArgument,
          absl::StrCat("targets of type ", std::string(NameOf(view.dtype())),
                       ": a metric takes f32, f64, i64, i32, u8 or bool"));
  }
}

std::string Both(const MetricInput& input) {
  return absl::StrCat("targets of shape ", input.targets.shape().ToString(),
                      " and predictions of shape ",
                      input.predictions.shape().ToString());
}

}  // namespace

MetricBatch::MetricBatch(const MetricInput& batch) : input(batch) {
  if (batch.predictions.dtype() != DType::kF32) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("predictions of type ",
                             std::string(NameOf(batch.predictions.dtype())),
                             ": a metric takes f32"));
  }
  const Shape& prediction = batch.predictions.shape();
  const Shape& target = batch.targets.shape();
  if (prediction.rank() == 0 || target.rank() == 0 ||
      prediction[0] != target[0]) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat(Both(batch),
                             ": the first axis is that of the examples, and "
                             "must be the same"));
  }
  examples = static_cast<size_t>(prediction[0]);
  prediction_size = static_cast<size_t>(prediction.row_elements());
  target_size = static_cast<size_t>(target.row_elements());
  targets = Targets(batch.targets);
  predictions = batch.predictions.Values<float>();
  weights = batch.weights;
  if (!weights.empty() && weights.size() != examples) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat(weights.size(), " weights for ", examples,
                             " examples: there must be one for each"));
  }
}

void MetricBatch::RequireSameSize() const {
  if (target_size == prediction_size) return;
  throw Error(ErrorCode::kInvalidArgument,
              absl::StrCat(Both(input),
                           ": this metric compares them number "
                           "by number"));
}

void MetricBatch::RequireClassNumbers() const {
  if (target_size == 1) return;
  throw Error(ErrorCode::kInvalidArgument,
              absl::StrCat(Both(input),
                           ": this metric takes one class number "
                           "per example"));
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace capstan
