// Optimizers: how a gradient changes a variable. They run on the servers, where
// the values and their slots (momentum, accumulators) live.
//
//   Optimizer optimizer = Adam{.learning_rate = 1e-3};
//   optimizer.clip_norm = 1.0;
//
// The names, meanings and defaults are those of Keras where it has them. All
// types are plain values; they are checked when a variable is created, which
// throws kInvalidArgument naming the field.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace capstan {

// Learning-rate schedules. `t` is the number of updates that the variable has
// had before the current one.

// initial * rate^(t / steps); with `staircase`, t / steps is rounded down.
struct ExponentialDecay {
  double initial = 0.1;
  std::int64_t steps = 1000;
  double rate = 0.96;
  bool staircase = false;
};

// From `initial` to `end` in `steps`, along (1 - t / steps)^power; then
// constant at `end` or, with `cycle`, again over the next multiple of `steps`.
struct PolynomialDecay {
  double initial = 0.1;
  std::int64_t steps = 1000;
  double end = 1e-4;
  double power = 1.0;
  bool cycle = false;
};

// initial / (1 + rate * t / steps); with `staircase`, t / steps is rounded
// down.
struct InverseTimeDecay {
  double initial = 0.1;
  std::int64_t steps = 1000;
  double rate = 0.5;
  bool staircase = false;
};

// values[i] up to and including boundaries[i], values.back() after the last.
// There is one more value than boundaries, which are in ascending order.
struct PiecewiseConstant {
  std::vector<std::int64_t> boundaries = {};
  std::vector<double> values = {};
};

// Linearly from 0 to `initial` in `warmup_steps`, then along half a cosine to
// alpha * initial in `steps`, then constant.
struct CosineDecay {
  double initial = 0.1;
  std::int64_t steps = 1000;
  double alpha = 0.0;
  std::int64_t warmup_steps = 0;
};

using LearningRate =
    std::variant<double, ExponentialDecay, PolynomialDecay, InverseTimeDecay,
                 PiecewiseConstant, CosineDecay>;

// The rules.

struct Sgd {
  LearningRate learning_rate = 0.01;
};

struct Momentum {
  LearningRate learning_rate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
};

struct Adagrad {
  LearningRate learning_rate = 0.001;
  double initial_accumulator = 0.1;
  double epsilon = 1e-7;
};

struct Adadelta {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
};

struct RmsProp {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
};

// What an update by rows does to the moments of the rows that it does not
// touch.
enum class RowMoments : std::uint8_t {
  kLazy = 0,   // nothing: the cost is that of the touched rows
  kExact = 1,  // what a dense update with zeros there would do
};

struct Adam {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  RowMoments row_moments = RowMoments::kLazy;
};

// Adam with decoupled weight decay.
struct AdamW {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  RowMoments row_moments = RowMoments::kLazy;
};

struct Adamax {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
};

struct Nadam {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  double momentum_decay = 0.004;
};

struct Ftrl {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5;
  double initial_accumulator = 0.1;
  double l1 = 0.0;
  double l2 = 0.0;
  double l2_shrinkage = 0.0;
  double beta = 0.0;
};

// A rule, and what happens to the gradient before it, in this order: the worker
// scales the gradient for `global_clip_norm`, then for `clip_norm`; the server
// clamps each element to `clip_value` and adds weight_decay * value.
struct Optimizer {
  using Rule = std::variant<Sgd, Momentum, Adagrad, Adadelta, RmsProp, Adam,
                            AdamW, Adamax, Nadam, Ftrl>;

  Optimizer() = default;
  template <typename R,
            typename = std::enable_if_t<std::is_constructible_v<Rule, R>>>
  Optimizer(R r) : rule(std::move(r)) {}  // NOLINT: a rule is an optimizer

  Rule rule;
  // 0 turns each of these off.
  double weight_decay = 0.0;  // L2: added to the gradient
  double clip_value = 0.0;    // elements to [-clip_value, clip_value]
  double clip_norm = 0.0;     // the norm of this variable's gradient
  // The norm of a replica's whole gradient: of all parameters and embeddings of
  // a model, or of everything in one call of ApplyGradients. It includes the
  // gradients of variables that have no such bound. A model's gradient is then
  // sent after backward has ended, not piece by piece while it runs.
  double global_clip_norm = 0.0;
  // The learning rate is divided by (1 + s)^staleness_power, where s is how
  // many updates the variable has had since the worker read it.
  double staleness_power = 0.0;
};

}  // namespace capstan
