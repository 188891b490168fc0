// Adadelta, as in Keras and torch:
//
//   mean_square = rho * mean_square + (1 - rho) * gradient^2
//   change = sqrt((mean_change + epsilon) / (mean_square + epsilon)) * gradient
//   value -= rate * change
//   mean_change = rho * mean_change + (1 - rho) * change^2
//
// They have a quotient of roots where this has one root of a quotient: it is as
// exact, and roots are the slowest operation of the processor.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/adadelta.cc"
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

  using Scalars = AdadeltaScalars;

  explicit Rule(const Scalars& scalars)
      : rate(Set(scalars.rate)),
        rho(Set(scalars.rho)),
        rest(Set(scalars.rest)),
        epsilon(Set(scalars.epsilon)) {}

  HWY_INLINE void Apply(V gradient, V& value, V* slots) const {
    V& mean_square = slots[0];
    V& mean_change = slots[1];
    mean_square = Mean(mean_square, gradient);
    const V quotient =
        hn::Div(hn::Add(mean_change, epsilon), hn::Add(mean_square, epsilon));
    const V change = hn::Mul(hn::Sqrt(quotient), gradient);
    value = hn::Sub(value, hn::Mul(rate, change));
    mean_change = Mean(mean_change, change);
  }

  HWY_INLINE V Mean(V mean, V x) const {
    return hn::Add(hn::Mul(rho, mean), hn::Mul(rest, hn::Mul(x, x)));
  }

  V rate;
  V rho;
  V rest;
  V epsilon;
};

void AdadeltaKernel(const KernelCall& call) { RunKernel<Rule>(call); }

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(AdadeltaKernel);
void RunAdadelta(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(AdadeltaKernel)(call);
}

class AdadeltaUpdater final : public KernelUpdater {
 public:
  AdadeltaUpdater(const Adadelta& rule, const Optimizer& optimizer)
      : KernelUpdater(optimizer, RunAdadelta,
                      {{.name = "mean_square"}, {.name = "mean_change"}}),
        rule_(rule) {}

 private:
  RuleScalars Prepare(const OptimizerState&, double rate) const override {
    return AdadeltaScalars{.rate = static_cast<float>(rate),
                           .rho = static_cast<float>(rule_.rho),
                           .rest = static_cast<float>(1 - rule_.rho),
                           .epsilon = static_cast<float>(rule_.epsilon)};
  }

  const Adadelta rule_;
};

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const Adadelta& rule,
                                           const Optimizer& optimizer) {
  return std::make_unique<AdadeltaUpdater>(rule, optimizer);
}

}  // namespace capstan
#endif  // HWY_ONCE
