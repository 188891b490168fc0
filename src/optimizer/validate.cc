#include "optimizer/validate.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include "fmt/format.h"

namespace capstan {
namespace {

absl::Status Wrong(std::string_view field, auto value, std::string_view rule) {
  return absl::InvalidArgumentError(
      fmt::format("{} is {}, and must be {}", field, value, rule));
}

bool IsFinite(double value) {
  return std::fabs(value) <= std::numeric_limits<float>::max();
}

absl::Status CheckNotNegative(std::string_view field, double value) {
  if (IsFinite(value) && value >= 0) return absl::OkStatus();
  return Wrong(field, value, "a finite number that is not negative");
}

absl::Status CheckFraction(std::string_view field, double value) {
  // A value that f32 rounds up to 1 is not below 1 in the kernels.
  if (value >= 0 && static_cast<float>(value) < 1) return absl::OkStatus();
  return Wrong(field, value, "in [0, 1)");
}

// Epsilon keeps divisors away from 0.
absl::Status CheckEpsilon(double value) {
  if (IsFinite(value) && value >= std::numeric_limits<float>::min()) {
    return absl::OkStatus();
  }
  return Wrong("epsilon", value, "a finite number above 0");
}

absl::Status CheckSteps(int64_t steps) {
  if (steps > 0) return absl::OkStatus();
  return Wrong("learning_rate.steps", steps, "above 0");
}

absl::Status CheckRowMoments(RowMoments row_moments) {
  if (row_moments == RowMoments::kLazy || row_moments == RowMoments::kExact) {
    return absl::OkStatus();
  }
  return Wrong("row_moments", static_cast<int>(row_moments), "lazy or exact");
}

absl::Status CheckRate(double rate) {
  return CheckNotNegative("learning_rate", rate);
}

absl::Status CheckRate(const ExponentialDecay& decay) {
  CAPSTAN_RETURN_IF_ERROR(
      CheckNotNegative("learning_rate.initial", decay.initial));
  CAPSTAN_RETURN_IF_ERROR(CheckSteps(decay.steps));
  return CheckNotNegative("learning_rate.rate", decay.rate);
}

absl::Status CheckRate(const PolynomialDecay& decay) {
  CAPSTAN_RETURN_IF_ERROR(
      CheckNotNegative("learning_rate.initial", decay.initial));
  CAPSTAN_RETURN_IF_ERROR(CheckSteps(decay.steps));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("learning_rate.end", decay.end));
  return CheckNotNegative("learning_rate.power", decay.power);
}

absl::Status CheckRate(const InverseTimeDecay& decay) {
  CAPSTAN_RETURN_IF_ERROR(
      CheckNotNegative("learning_rate.initial", decay.initial));
  CAPSTAN_RETURN_IF_ERROR(CheckSteps(decay.steps));
  return CheckNotNegative("learning_rate.rate", decay.rate);
}

absl::Status CheckRate(const PiecewiseConstant& pieces) {
  if (pieces.values.size() != pieces.boundaries.size() + 1) {
    return absl::InvalidArgumentError(fmt::format(
        "learning_rate has {} values and {} boundaries, and must have one "
        "value more than boundaries",
        pieces.values.size(), pieces.boundaries.size()));
  }
  for (size_t i = 1; i < pieces.boundaries.size(); ++i) {
    if (pieces.boundaries[i] <= pieces.boundaries[i - 1]) {
      return Wrong(fmt::format("learning_rate.boundaries[{}]", i),
                   pieces.boundaries[i], "above the one before");
    }
  }
  for (size_t i = 0; i < pieces.values.size(); ++i) {
    CAPSTAN_RETURN_IF_ERROR(CheckNotNegative(
        fmt::format("learning_rate.values[{}]", i), pieces.values[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckRate(const CosineDecay& decay) {
  CAPSTAN_RETURN_IF_ERROR(
      CheckNotNegative("learning_rate.initial", decay.initial));
  CAPSTAN_RETURN_IF_ERROR(CheckSteps(decay.steps));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("learning_rate.alpha", decay.alpha));
  if (decay.warmup_steps < 0) {
    return Wrong("learning_rate.warmup_steps", decay.warmup_steps, "0 or more");
  }
  return absl::OkStatus();
}

absl::Status CheckRule(const Sgd&) { return absl::OkStatus(); }

absl::Status CheckRule(const Momentum& rule) {
  return CheckFraction("momentum", rule.momentum);
}

absl::Status CheckRule(const Adagrad& rule) {
  CAPSTAN_RETURN_IF_ERROR(
      CheckNotNegative("initial_accumulator", rule.initial_accumulator));
  return CheckEpsilon(rule.epsilon);
}

absl::Status CheckRule(const Adadelta& rule) {
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("rho", rule.rho));
  return CheckEpsilon(rule.epsilon);
}

absl::Status CheckRule(const RmsProp& rule) {
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("rho", rule.rho));
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("momentum", rule.momentum));
  return CheckEpsilon(rule.epsilon);
}

// What Adam and its variants share.
absl::Status CheckMoments(const auto& rule) {
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("beta1", rule.beta1));
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("beta2", rule.beta2));
  return CheckEpsilon(rule.epsilon);
}

absl::Status CheckRule(const Adam& rule) {
  CAPSTAN_RETURN_IF_ERROR(CheckMoments(rule));
  return CheckRowMoments(rule.row_moments);
}

absl::Status CheckRule(const AdamW& rule) {
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("weight_decay", rule.weight_decay));
  CAPSTAN_RETURN_IF_ERROR(CheckMoments(rule));
  return CheckRowMoments(rule.row_moments);
}

absl::Status CheckRule(const Adamax& rule) { return CheckMoments(rule); }

absl::Status CheckRule(const Nadam& rule) {
  CAPSTAN_RETURN_IF_ERROR(CheckMoments(rule));
  return CheckNotNegative("momentum_decay", rule.momentum_decay);
}

absl::Status CheckRule(const Ftrl& rule) {
  double power = rule.learning_rate_power;
  if (!IsFinite(power) || power > 0) {
    return Wrong("learning_rate_power", power,
                 "a finite number that is not positive");
  }
  CAPSTAN_RETURN_IF_ERROR(
      CheckNotNegative("initial_accumulator", rule.initial_accumulator));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("l1", rule.l1));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("l2", rule.l2));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("l2_shrinkage", rule.l2_shrinkage));
  return CheckNotNegative("beta", rule.beta);
}

absl::Status CheckCommon(const Optimizer& optimizer) {
  CAPSTAN_RETURN_IF_ERROR(
      CheckNotNegative("weight_decay", optimizer.weight_decay));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("clip_value", optimizer.clip_value));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("clip_norm", optimizer.clip_norm));
  CAPSTAN_RETURN_IF_ERROR(
      CheckNotNegative("global_clip_norm", optimizer.global_clip_norm));
  return CheckNotNegative("staleness_power", optimizer.staleness_power);
}

struct NameOfRule {
  std::string_view operator()(const Sgd&) const { return "sgd"; }
  std::string_view operator()(const Momentum&) const { return "momentum"; }
  std::string_view operator()(const Adagrad&) const { return "adagrad"; }
  std::string_view operator()(const Adadelta&) const { return "adadelta"; }
  std::string_view operator()(const RmsProp&) const { return "rmsprop"; }
  std::string_view operator()(const Adam&) const { return "adam"; }
  std::string_view operator()(const AdamW&) const { return "adamw"; }
  std::string_view operator()(const Adamax&) const { return "adamax"; }
  std::string_view operator()(const Nadam&) const { return "nadam"; }
  std::string_view operator()(const Ftrl&) const { return "ftrl"; }
};

absl::Status CheckAll(const Optimizer& optimizer) {
  CAPSTAN_RETURN_IF_ERROR(std::visit(
      [](const auto& rule) {
        return std::visit([](const auto& rate) { return CheckRate(rate); },
                          rule.learning_rate);
      },
      optimizer.rule));
  CAPSTAN_RETURN_IF_ERROR(std::visit(
      [](const auto& rule) { return CheckRule(rule); }, optimizer.rule));
  return CheckCommon(optimizer);
}

}  // namespace

std::string_view RuleName(const Optimizer& optimizer) {
  return std::visit(NameOfRule{}, optimizer.rule);
}

absl::Status Validate(const Optimizer& optimizer) {
  return WithContext(CheckAll(optimizer), RuleName(optimizer));
}

}  // namespace capstan
