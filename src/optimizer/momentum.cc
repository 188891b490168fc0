// Gradient descent with momentum, in Keras's form:
//
//   velocity = momentum * velocity - rate * gradient
//   value += velocity                               without nesterov
//   value += momentum * velocity - rate * gradient  with nesterov
//
// torch keeps the rate out of the velocity. The two agree while the rate is
// constant; in this form a change of the rate does not affect the velocity
// accumulated before.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/momentum.cc"
#include <memory>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "optimizer/kernel.inc"
#include "optimizer/kernel_updater.h"
#include "optimizer/rule_scalars.h"

HWY_BEFORE_NAMESPACE();
namespace capstan::HWY_NAMESPACE {
namespace {

template <bool kNesterov>
struct Rule {
  static constexpr size_t kSlots = 1;

  using Scalars = MomentumScalars;

  explicit Rule(const Scalars& scalars)
      : rate(Set(scalars.rate)), momentum(Set(scalars.momentum)) {}

  HWY_INLINE void Apply(V gradient, V& value, V* slots) const {
    V& velocity = slots[0];
    const V step = hn::Mul(rate, gradient);
    velocity = hn::Sub(hn::Mul(momentum, velocity), step);
    const V change =
        kNesterov ? hn::Sub(hn::Mul(momentum, velocity), step) : velocity;
    value = hn::Add(value, change);
  }

  V rate;
  V momentum;
};

void MomentumKernel(const KernelCall& call) { RunKernel<Rule<false>>(call); }
void NesterovKernel(const KernelCall& call) { RunKernel<Rule<true>>(call); }

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(MomentumKernel);
void RunMomentum(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(MomentumKernel)(call);
}
HWY_EXPORT(NesterovKernel);
void RunNesterov(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(NesterovKernel)(call);
}

class MomentumUpdater final : public KernelUpdater {
 public:
  MomentumUpdater(const Momentum& rule, const Optimizer& optimizer)
      : KernelUpdater(optimizer, rule.nesterov ? RunNesterov : RunMomentum,
                      {{.name = "momentum"}}),
        momentum_(static_cast<float>(rule.momentum)) {}

 private:
  RuleScalars Prepare(const OptimizerState&, double rate) const override {
    return MomentumScalars{.rate = static_cast<float>(rate),
                           .momentum = momentum_};
  }

  const float momentum_;
};

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const Momentum& rule,
                                           const Optimizer& optimizer) {
  return std::make_unique<MomentumUpdater>(rule, optimizer);
}

}  // namespace capstan
#endif  // HWY_ONCE
