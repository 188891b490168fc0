#include "optimizer/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

namespace capstan {
namespace {

// t / steps, for the two schedules that may be rounded down to a staircase.
double Progress(double t, int64_t steps, bool staircase) {
  double progress = t / static_cast<double>(steps);
  return staircase ? std::floor(progress) : progress;
}

// The rate after `t` updates, one case per schedule. Doubles represent every t
// that a job reaches: integers up to 2^53 are exact.
struct RateAt {
  double t;

  double operator()(double rate) const { return rate; }

  double operator()(const ExponentialDecay& decay) const {
    return decay.initial *
           std::pow(decay.rate, Progress(t, decay.steps, decay.staircase));
  }

  double operator()(const PolynomialDecay& decay) const {
    double end = static_cast<double>(decay.steps);
    if (decay.cycle) end *= std::max(1.0, std::ceil(t / end));
    double left = 1 - std::min(t, end) / end;
    return (decay.initial - decay.end) * std::pow(left, decay.power) +
           decay.end;
  }

  double operator()(const InverseTimeDecay& decay) const {
    return decay.initial /
           (1 + decay.rate * Progress(t, decay.steps, decay.staircase));
  }

  double operator()(const PiecewiseConstant& pieces) const {
    // The first boundary that is at least t.
    auto boundary = std::ranges::lower_bound(
        pieces.boundaries, t, {},
        [](int64_t value) { return static_cast<double>(value); });
    return pieces
        .values[static_cast<size_t>(boundary - pieces.boundaries.begin())];
  }

  double operator()(const CosineDecay& decay) const {
    double warmup = static_cast<double>(decay.warmup_steps);
    if (t < warmup) return decay.initial * t / warmup;
    double progress =
        std::min(1.0, (t - warmup) / static_cast<double>(decay.steps));
    double cosine = 0.5 * (1 + std::cos(std::numbers::pi * progress));
    return decay.initial * ((1 - decay.alpha) * cosine + decay.alpha);
  }
};

}  // namespace

double LearningRateAt(const LearningRate& learning_rate, uint64_t t) {
  return std::visit(RateAt{static_cast<double>(t)}, learning_rate);
}

}  // namespace capstan
