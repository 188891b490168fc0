// Adagrad:
//
//   accumulator += gradient^2
//   value -= rate * gradient / (sqrt(accumulator) + epsilon)
//
// Epsilon is outside the root, as in torch and in the paper; Keras's code has
// it inside. With an accumulator that starts at 0.1 the difference hardly
// matters.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/adagrad.cc"
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
  static constexpr size_t kSlots = 1;

  using Scalars = AdagradScalars;

  explicit Rule(const Scalars& scalars)
      : rate(Set(scalars.rate)), epsilon(Set(scalars.epsilon)) {}

  HWY_INLINE void Apply(V gradient, V& value, V* slots) const {
    V& accumulator = slots[0];
    accumulator = hn::Add(accumulator, hn::Mul(gradient, gradient));
    const V divisor = hn::Add(hn::Sqrt(accumulator), epsilon);
    value = hn::Sub(value, hn::Div(hn::Mul(rate, gradient), divisor));
  }

  V rate;
  V epsilon;
};

void AdagradKernel(const KernelCall& call) { RunKernel<Rule>(call); }

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(AdagradKernel);
void RunAdagrad(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(AdagradKernel)(call);
}

class AdagradUpdater final : public KernelUpdater {
 public:
  AdagradUpdater(const Adagrad& rule, const Optimizer& optimizer)
      : KernelUpdater(
            optimizer, RunAdagrad,
            {{.name = "accumulator",
              .initial = static_cast<float>(rule.initial_accumulator)}}),
        epsilon_(static_cast<float>(rule.epsilon)) {}

 private:
  RuleScalars Prepare(const OptimizerState&, double rate) const override {
    return AdagradScalars{.rate = static_cast<float>(rate),
                          .epsilon = epsilon_};
  }

  const float epsilon_;
};

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const Adagrad& rule,
                                           const Optimizer& optimizer) {
  return std::make_unique<AdagradUpdater>(rule, optimizer);
}

}  // namespace capstan
#endif  // HWY_ONCE
