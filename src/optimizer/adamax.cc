// Adamax, as in Keras (t counts from 1):
//
//   m = beta1 * m + (1 - beta1) * gradient
//   u = max(beta2 * u, |gradient|)
//   value -= rate / (1 - beta1^t) * m / (u + epsilon)
//
// torch adds epsilon to |gradient| instead.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/adamax.cc"
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

  using Scalars = AdamaxScalars;

  explicit Rule(const Scalars& scalars)
      : beta1(Set(scalars.beta1)),
        rest1(Set(scalars.rest1)),
        beta2(Set(scalars.beta2)),
        step(Set(scalars.step)),
        epsilon(Set(scalars.epsilon)) {}

  HWY_INLINE void Apply(V gradient, V& value, V* slots) const {
    V& m = slots[0];
    V& u = slots[1];
    m = hn::Add(hn::Mul(beta1, m), hn::Mul(rest1, gradient));
    const V decayed = hn::Mul(beta2, u);
    const V size = hn::Abs(gradient);
    // In this order, a NaN in the gradient propagates.
    u = hn::IfThenElse(hn::Gt(decayed, size), decayed, size);
    value = hn::Sub(value, hn::Div(hn::Mul(step, m), hn::Add(u, epsilon)));
  }

  V beta1;
  V rest1;
  V beta2;
  V step;
  V epsilon;
};

void AdamaxKernel(const KernelCall& call) { RunKernel<Rule>(call); }

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(AdamaxKernel);
void RunAdamax(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(AdamaxKernel)(call);
}

class AdamaxUpdater final : public KernelUpdater {
 public:
  AdamaxUpdater(const Adamax& rule, const Optimizer& optimizer)
      : KernelUpdater(optimizer, RunAdamax, {{.name = "m"}, {.name = "u"}}),
        rule_(rule) {}

 private:
  RuleScalars Prepare(const OptimizerState& state, double rate) const override {
    const double t = static_cast<double>(state.updates) + 1;
    return AdamaxScalars{
        .beta1 = static_cast<float>(rule_.beta1),
        .rest1 = static_cast<float>(1 - rule_.beta1),
        .beta2 = static_cast<float>(rule_.beta2),
        .step = static_cast<float>(rate / (1 - std::pow(rule_.beta1, t))),
        .epsilon = static_cast<float>(rule_.epsilon)};
  }

  const Adamax rule_;
};

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const Adamax& rule,
                                           const Optimizer& optimizer) {
  return std::make_unique<AdamaxUpdater>(rule, optimizer);
}

}  // namespace capstan
#endif  // HWY_ONCE
