#include <cmath>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "train/metric/metrics.h"

namespace capstan {
namespace {

[[noreturn]] void Refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument,
              absl::StrCat("the metric '", name, "': ", why));
}

bool FromLogits(const Loss& loss) {
  return std::visit(
      [](const auto& kind) {
        if constexpr (requires { kind.from_logits; }) {
          return kind.from_logits;
        } else {
          return false;
        }
      },
      loss);
}

// Makes a metric; the loss determines how its inputs are interpreted.
struct Maker {
  const Loss& loss;
  const std::map<std::string, MetricFactory>& custom;

  bool Logits(const std::optional<bool>& own) const {
    return own.value_or(FromLogits(loss));
  }
  static double Threshold(double threshold, const std::string& name) {
    if (!std::isfinite(threshold)) Refuse(name, "its threshold is no number");
    return threshold;
  }

  std::unique_ptr<MetricState> operator()(const Accuracy& /*metric*/) const {
    const bool logits = FromLogits(loss);
    if (std::holds_alternative<BinaryCrossentropy>(loss)) {
      return MakeAccuracy(AccuracyKind::kBinary, 0.5, logits);
    }
    // With Hinge, the sign of a prediction is the class.
    if (std::holds_alternative<Hinge>(loss)) {
      return MakeAccuracy(AccuracyKind::kBinary, 0, false);
    }
    if (std::holds_alternative<CategoricalCrossentropy>(loss)) {
      return MakeAccuracy(AccuracyKind::kCategorical, 0, false);
    }
    if (std::holds_alternative<SparseCategoricalCrossentropy>(loss)) {
      return MakeAccuracy(AccuracyKind::kSparse, 0, false);
    }
    return MakeAccuracy(AccuracyKind::kByShape, 0.5, false);
  }
  std::unique_ptr<MetricState> operator()(const BinaryAccuracy& metric) const {
    return MakeAccuracy(AccuracyKind::kBinary,
                        Threshold(metric.threshold, metric.name),
                        Logits(metric.from_logits));
  }
  std::unique_ptr<MetricState> operator()(
      const CategoricalAccuracy& /*metric*/) const {
    return MakeAccuracy(AccuracyKind::kCategorical, 0, false);
  }
  std::unique_ptr<MetricState> operator()(
      const SparseCategoricalAccuracy& /*metric*/) const {
    return MakeAccuracy(AccuracyKind::kSparse, 0, false);
  }
  std::unique_ptr<MetricState> operator()(const TopKAccuracy& metric) const {
    if (metric.k < 1) {
      Refuse(metric.name, absl::StrCat("k must be at least 1, not ", metric.k));
    }
    return MakeTopKAccuracy(metric.k);
  }
  std::unique_ptr<MetricState> operator()(const Auc& metric) const {
    if (metric.thresholds < 2 || metric.thresholds > 100'000) {
      Refuse(metric.name, absl::StrCat("it takes 2 to 100000 thresholds, not ",
                                       metric.thresholds));
    }
    return MakeAuc(metric.thresholds, Logits(metric.from_logits));
  }
  std::unique_ptr<MetricState> operator()(const Precision& metric) const {
    return MakePrecision(Threshold(metric.threshold, metric.name),
                         Logits(metric.from_logits));
  }
  std::unique_ptr<MetricState> operator()(const Recall& metric) const {
    return MakeRecall(Threshold(metric.threshold, metric.name),
                      Logits(metric.from_logits));
  }
  std::unique_ptr<MetricState> operator()(
      const MeanSquaredErrorMetric& /*metric*/) const {
    return MakeMeanSquaredError();
  }
  std::unique_ptr<MetricState> operator()(
      const RootMeanSquaredError& /*metric*/) const {
    return MakeRootMeanSquaredError();
  }
  std::unique_ptr<MetricState> operator()(
      const MeanAbsoluteErrorMetric& /*metric*/) const {
    return MakeMeanAbsoluteError();
  }
  std::unique_ptr<MetricState> operator()(const Mean& /*metric*/) const {
    return MakeMean();
  }
  std::unique_ptr<MetricState> operator()(const CustomMetric& metric) const {
    const auto found = custom.find(metric.name);
    std::unique_ptr<MetricState> state;
    if (found != custom.end() && found->second) state = found->second();
    if (state != nullptr) return state;
    throw Error(ErrorCode::kNotFound,
                absl::StrCat("the model has no metric '", metric.name,
                             "': add it to ModelDefinition::metrics"));
  }
};

}  // namespace

const std::string& NameOf(const MetricSpec& metric) {
  return std::visit(
      [](const auto& kind) -> const std::string& { return kind.name; }, metric);
}

std::unique_ptr<MetricState> MakeMetric(
    const MetricSpec& metric, const Loss& loss,
    const std::map<std::string, MetricFactory>& custom) {
  return std::visit(Maker{loss, custom}, metric);
}

}  // namespace capstan
