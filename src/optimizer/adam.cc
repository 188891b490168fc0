// Adam and AdamW, with and without AMSGrad, as in torch (t counts from 1):
//
//   value *= 1 - rate * weight_decay         AdamW
//   m = beta1 * m + (1 - beta1) * gradient
//   v = beta2 * v + (1 - beta2) * gradient^2
//   v_max = max(v_max, v)                    AMSGrad; replaces v below
//   step = rate / (1 - beta1^t)
//   value -= step * m / (sqrt(v / (1 - beta2^t)) + epsilon)
//
// Keras adds epsilon to sqrt(v) before the correction by beta2: its epsilon is
// larger than this one by a factor that falls from 1 / sqrt(1 - beta2) to 1
// over the first few thousand updates.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/adam.cc"
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "optimizer/kernel.inc"
#include "optimizer/kernel_updater.h"
#include "optimizer/rule_scalars.h"

HWY_BEFORE_NAMESPACE();
namespace capstan::HWY_NAMESPACE {
namespace {

template <bool kAmsgrad>
struct Rule {
  static constexpr size_t kSlots = kAmsgrad ? 3 : 2;

  using Scalars = AdamScalars;

  explicit Rule(const Scalars& scalars)
      : beta1(Set(scalars.beta1)),
        rest1(Set(scalars.rest1)),
        beta2(Set(scalars.beta2)),
        rest2(Set(scalars.rest2)),
        step(Set(scalars.step)),
        correction(Set(scalars.correction)),
        epsilon(Set(scalars.epsilon)),
        kept(Set(scalars.kept)) {}

  HWY_INLINE void Apply(V gradient, V& value, V* slots) const {
    V& m = slots[0];
    V& v = slots[1];
    m = hn::Add(hn::Mul(beta1, m), hn::Mul(rest1, gradient));
    v = hn::Add(hn::Mul(beta2, v), hn::Mul(rest2, hn::Mul(gradient, gradient)));
    V square = v;
    if constexpr (kAmsgrad) {
      V& v_max = slots[2];
      // In this order, a NaN in v propagates.
      square = v_max = hn::IfThenElse(hn::Gt(v_max, v), v_max, v);
    }
    const V divisor = hn::Add(hn::Mul(hn::Sqrt(square), correction), epsilon);
    value = hn::Sub(hn::Mul(value, kept), hn::Div(hn::Mul(step, m), divisor));
  }

  V beta1;
  V rest1;
  V beta2;
  V rest2;
  V step;
  V correction;
  V epsilon;
  V kept;  // fraction of the value left by weight decay
};

void AdamKernel(const KernelCall& call) { RunKernel<Rule<false>>(call); }
void AmsgradKernel(const KernelCall& call) { RunKernel<Rule<true>>(call); }

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(AdamKernel);
void RunAdam(const KernelCall& call) { HWY_DYNAMIC_DISPATCH(AdamKernel)(call); }
HWY_EXPORT(AmsgradKernel);
void RunAmsgrad(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(AmsgradKernel)(call);
}

std::vector<SlotInfo> SlotsOf(bool amsgrad) {
  std::vector<SlotInfo> slots = {{.name = "m"}, {.name = "v"}};
  if (amsgrad) slots.push_back({.name = "v_max"});
  return slots;
}

// Adam is AdamW without weight decay.
class AdamUpdater final : public KernelUpdater {
 public:
  AdamUpdater(const AdamW& rule, const Optimizer& optimizer)
      : KernelUpdater(optimizer, rule.amsgrad ? RunAmsgrad : RunAdam,
                      SlotsOf(rule.amsgrad), rule.row_moments),
        rule_(rule) {}

 private:
  RuleScalars Prepare(const OptimizerState& state, double rate) const override {
    const double t = static_cast<double>(state.updates) + 1;
    const double step = rate / (1 - std::pow(rule_.beta1, t));
    const double correction = 1 / std::sqrt(1 - std::pow(rule_.beta2, t));
    return AdamScalars{
        .beta1 = static_cast<float>(rule_.beta1),
        .rest1 = static_cast<float>(1 - rule_.beta1),
        .beta2 = static_cast<float>(rule_.beta2),
        .rest2 = static_cast<float>(1 - rule_.beta2),
        .step = static_cast<float>(step),
        .correction = static_cast<float>(correction),
        .epsilon = static_cast<float>(rule_.epsilon),
        .kept = static_cast<float>(1 - rate * rule_.weight_decay)};
  }

  const AdamW rule_;
};

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const AdamW& rule,
                                           const Optimizer& optimizer) {
  return std::make_unique<AdamUpdater>(rule, optimizer);
}

std::unique_ptr<const Updater> MakeUpdater(const Adam& rule,
                                           const Optimizer& optimizer) {
  return MakeUpdater(AdamW{.learning_rate = rule.learning_rate,
                           .weight_decay = 0,
                           .beta1 = rule.beta1,
                           .beta2 = rule.beta2,
                           .epsilon = rule.epsilon,
                           .amsgrad = rule.amsgrad,
                           .row_moments = rule.row_moments},
                     optimizer);
}

}  // namespace capstan
#endif  // HWY_ONCE
