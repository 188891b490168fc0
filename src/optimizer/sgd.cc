// Gradient descent: value -= rate * gradient.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/sgd.cc"
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
  static constexpr size_t kSlots = 0;

  using Scalars = SgdScalars;

  explicit Rule(const Scalars& scalars) : rate(Set(scalars.rate)) {}

  HWY_INLINE void Apply(V gradient, V& value, V* /*slots*/) const {
    value = hn::Sub(value, hn::Mul(rate, gradient));
  }

  V rate;
};

void SgdKernel(const KernelCall& call) { RunKernel<Rule>(call); }

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(SgdKernel);
void RunSgd(const KernelCall& call) { HWY_DYNAMIC_DISPATCH(SgdKernel)(call); }

class SgdUpdater final : public KernelUpdater {
 public:
  explicit SgdUpdater(const Optimizer& optimizer)
      : KernelUpdater(optimizer, RunSgd, {}) {}

 private:
  RuleScalars Prepare(const OptimizerState&, double rate) const override {
    return SgdScalars{.rate = static_cast<float>(rate)};
  }
};

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const Sgd&,
                                           const Optimizer& optimizer) {
  return std::make_unique<SgdUpdater>(optimizer);
}

}  // namespace capstan
#endif  // HWY_ONCE
