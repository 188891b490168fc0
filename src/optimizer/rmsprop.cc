// RMSprop:
//
//   mean_square = rho * mean_square + (1 - rho) * gradient^2
//   spread = mean_square
//   if centered:
//     mean = rho * mean + (1 - rho) * gradient
//     spread -= mean^2
//   change = rate * gradient / (sqrt(spread) + epsilon)
//   if momentum > 0:
//     momentum_slot = change = momentum * momentum_slot + change
//   value -= change
//
// Epsilon is outside the root, as in torch (Keras has it inside). The rate is
// included in what momentum accumulates, as in Keras (not in torch; the same
// for a constant rate).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/rmsprop.cc"
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

template <bool kCentered, bool kMomentum>
struct Rule {
  static constexpr size_t kSlots =
      1 + (kCentered ? 1u : 0u) + (kMomentum ? 1u : 0u);

  using Scalars = RmsPropScalars;

  explicit Rule(const Scalars& scalars)
      : rate(Set(scalars.rate)),
        rho(Set(scalars.rho)),
        rest(Set(scalars.rest)),
        epsilon(Set(scalars.epsilon)),
        momentum(Set(scalars.momentum)) {}

  HWY_INLINE void Apply(V gradient, V& value, V* slots) const {
    V& mean_square = slots[0];
    mean_square = Mean(mean_square, hn::Mul(gradient, gradient));
    V spread = mean_square;
    if constexpr (kCentered) {
      V& mean = slots[1];
      mean = Mean(mean, gradient);
      spread = hn::Sub(spread, hn::Mul(mean, mean));
      // Rounding can make it negative where all gradients are equal.
      const V zero = hn::Zero(D());
      spread = hn::IfThenElse(hn::Lt(spread, zero), zero, spread);
    }
    V change =
        hn::Div(hn::Mul(rate, gradient), hn::Add(hn::Sqrt(spread), epsilon));
    if constexpr (kMomentum) {
      V& gathered = slots[kSlots - 1];
      gathered = change = hn::Add(hn::Mul(momentum, gathered), change);
    }
    value = hn::Sub(value, change);
  }

  HWY_INLINE V Mean(V mean, V x) const {
    return hn::Add(hn::Mul(rho, mean), hn::Mul(rest, x));
  }

  V rate;
  V rho;
  V rest;
  V epsilon;
  V momentum;
};

void PlainKernel(const KernelCall& call) {
  RunKernel<Rule<false, false>>(call);
}
void MomentumKernel(const KernelCall& call) {
  RunKernel<Rule<false, true>>(call);
}
void CenteredKernel(const KernelCall& call) {
  RunKernel<Rule<true, false>>(call);
}
void CenteredMomentumKernel(const KernelCall& call) {
  RunKernel<Rule<true, true>>(call);
}

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(PlainKernel);
void RunPlain(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(PlainKernel)(call);
}
HWY_EXPORT(MomentumKernel);
void RunMomentum(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(MomentumKernel)(call);
}
HWY_EXPORT(CenteredKernel);
void RunCentered(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(CenteredKernel)(call);
}
HWY_EXPORT(CenteredMomentumKernel);
void RunCenteredMomentum(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(CenteredMomentumKernel)(call);
}

Kernel KernelOf(const RmsProp& rule) {
  const bool momentum = rule.momentum > 0;
  if (rule.centered) return momentum ? RunCenteredMomentum : RunCentered;
  return momentum ? RunMomentum : RunPlain;
}

std::vector<SlotInfo> SlotsOf(const RmsProp& rule) {
  std::vector<SlotInfo> slots = {{.name = "mean_square"}};
  if (rule.centered) slots.push_back({.name = "mean"});
  if (rule.momentum > 0) slots.push_back({.name = "momentum"});
  return slots;
}

class RmsPropUpdater final : public KernelUpdater {
 public:
  RmsPropUpdater(const RmsProp& rule, const Optimizer& optimizer)
      : KernelUpdater(optimizer, KernelOf(rule), SlotsOf(rule)), rule_(rule) {}

 private:
  RuleScalars Prepare(const OptimizerState&, double rate) const override {
    return RmsPropScalars{.rate = static_cast<float>(rate),
                          .rho = static_cast<float>(rule_.rho),
                          .rest = static_cast<float>(1 - rule_.rho),
                          .epsilon = static_cast<float>(rule_.epsilon),
                          .momentum = static_cast<float>(rule_.momentum)};
  }

  const RmsProp rule_;
};

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const RmsProp& rule,
                                           const Optimizer& optimizer) {
  return std::make_unique<RmsPropUpdater>(rule, optimizer);
}

}  // namespace capstan
#endif  // HWY_ONCE
