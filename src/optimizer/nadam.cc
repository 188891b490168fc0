// Nadam, Adam with Nesterov momentum, as in torch (t counts from 1):
//
//   mu(t) = beta1 * (1 - 0.96^(t * momentum_decay) / 2)
//   product(t) = mu(1) * ... * mu(t)
//   m = beta1 * m + (1 - beta1) * gradient
//   v = beta2 * v + (1 - beta2) * gradient^2
//   value -= rate * (gradient * (1 - mu(t)) / (1 - product(t)) +
//                    m * mu(t + 1) / (1 - product(t + 1)))
//            / (sqrt(v / (1 - beta2^t)) + epsilon)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/nadam.cc"
#include <cmath>
#include <memory>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "optimizer/kernel.inc"
#include "optimizer/kernel_updater.h"
#include "optimizer/rule_scalars.h"

HWY_BEFORE_NAMESPACE();
namespace capstan::HWY_NAMESPACE {
namespace {

struct Rule {
  static constexpr size_t kSlots = 2;

  using Scalars = NadamScalars;

  explicit Rule(const Scalars& scalars)
      : beta1(Set(scalars.beta1)),
        rest1(Set(scalars.rest1)),
        beta2(Set(scalars.beta2)),
        rest2(Set(scalars.rest2)),
        gradient_step(Set(scalars.gradient_step)),
        moment_step(Set(scalars.moment_step)),
        correction(Set(scalars.correction)),
        epsilon(Set(scalars.epsilon)) {}

  HWY_INLINE void Apply(V gradient, V& value, V* slots) const {
    V& m = slots[0];
    V& v = slots[1];
    m = hn::Add(hn::Mul(beta1, m), hn::Mul(rest1, gradient));
    v = hn::Add(hn::Mul(beta2, v), hn::Mul(rest2, hn::Mul(gradient, gradient)));
    const V divisor = hn::Add(hn::Mul(hn::Sqrt(v), correction), epsilon);
    const V change =
        hn::Add(hn::Mul(gradient_step, gradient), hn::Mul(moment_step, m));
    value = hn::Sub(value, hn::Div(change, divisor));
  }

  V beta1;
  V rest1;
  V beta2;
  V rest2;
  V gradient_step;
  V moment_step;
  V correction;
  V epsilon;
};

void NadamKernel(const KernelCall& call) { RunKernel<Rule>(call); }

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(NadamKernel);
void RunNadam(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(NadamKernel)(call);
}

class NadamUpdater final : public KernelUpdater {
 public:
  NadamUpdater(const Nadam& rule, const Optimizer& optimizer)
      : KernelUpdater(optimizer, RunNadam, {{.name = "m"}, {.name = "v"}}),
        rule_(rule) {}

  void Advance(OptimizerState& state) const override {
    state.momentum_product *=
        MomentumAt(static_cast<double>(state.updates) + 1);
    KernelUpdater::Advance(state);
  }

 private:
  RuleScalars Prepare(const OptimizerState& state, double rate) const override {
    const double t = static_cast<double>(state.updates) + 1;
    const double mu = MomentumAt(t);
    const double next_mu = MomentumAt(t + 1);
    const double product = state.momentum_product * mu;
    return NadamScalars{
        .beta1 = static_cast<float>(rule_.beta1),
        .rest1 = static_cast<float>(1 - rule_.beta1),
        .beta2 = static_cast<float>(rule_.beta2),
        .rest2 = static_cast<float>(1 - rule_.beta2),
        .gradient_step = static_cast<float>(rate * (1 - mu) / (1 - product)),
        .moment_step =
            static_cast<float>(rate * next_mu / (1 - product * next_mu)),
        .correction =
            static_cast<float>(1 / std::sqrt(1 - std::pow(rule_.beta2, t))),
        .epsilon = static_cast<float>(rule_.epsilon)};
  }

  double MomentumAt(double t) const {
    return rule_.beta1 * (1 - 0.5 * std::pow(0.96, t * rule_.momentum_decay));
  }

  const Nadam rule_;
};

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const Nadam& rule,
                                           const Optimizer& optimizer) {
  return std::make_unique<NadamUpdater>(rule, optimizer);
}

}  // namespace capstan
#endif  // HWY_ONCE
