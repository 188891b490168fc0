// FTRL-Proximal, as TensorFlow's ApplyFtrlV2 with multiply_linear_by_lr:
//
//   old = accumulator^p, p = -learning_rate_power
//   accumulator += gradient^2
//   new = accumulator^p
//   shrunk = gradient + 2 * l2_shrinkage * value
//   linear += rate * shrunk - (new - old) * value
//   excess = clamp(linear, rate * l1) - linear
//   value = excess / (new + 2 * rate * l2 + beta)
//
// While the rate is constant this computes the same as Keras, whose linear is
// this one divided by the rate. But when the rate changes, by a schedule or by
// staleness, every value in that form changes in proportion to it, whatever its
// gradient; and a rate of 0, where a warm-up begins, divides by 0.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/ftrl.cc"
#include <cmath>
#include <memory>
#include <utility>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "optimizer/kernel.inc"
#include "optimizer/kernel_updater.h"
#include "optimizer/rule_scalars.h"

HWY_BEFORE_NAMESPACE();
namespace capstan::HWY_NAMESPACE {
namespace {

// The implementations of accumulator^p.
struct SquareRoot {
  explicit SquareRoot(float /*power*/) {}
  HWY_INLINE V operator()(V x) const { return hn::Sqrt(x); }
};

struct One {
  explicit One(float /*power*/) {}
  HWY_INLINE V operator()(V /*x*/) const { return Set(1); }
};

// Slow, since there is no vector function for it, and as exact as the C
// library.
struct AnyPower {
  explicit AnyPower(float p) : power(p) {}
  HWY_INLINE V operator()(V x) const {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(x, D(), lanes);
    for (float& lane : lanes) lane = std::pow(lane, power);
    return hn::Load(D(), lanes);
  }

  float power;
};

template <typename Power>
struct Rule {
  static constexpr size_t kSlots = 2;

  using Scalars = FtrlScalars;

  explicit Rule(const Scalars& scalars)
      : rate(Set(scalars.rate)),
        l1(Set(scalars.l1)),
        l2(Set(scalars.l2)),
        shrinkage(Set(scalars.shrinkage)),
        power(scalars.power) {}

  HWY_INLINE void Apply(V gradient, V& value, V* slots) const {
    V& accumulator = slots[0];
    V& linear = slots[1];
    const V old_power = power(accumulator);
    accumulator = hn::Add(accumulator, hn::Mul(gradient, gradient));
    const V new_power = power(accumulator);
    const V shrunk = hn::Add(gradient, hn::Mul(shrinkage, value));
    linear =
        hn::Add(linear, hn::Sub(hn::Mul(rate, shrunk),
                                hn::Mul(hn::Sub(new_power, old_power), value)));
    const V divisor = hn::Add(new_power, l2);
    const V excess = hn::Sub(hn::CopySign(l1, linear), linear);
    // A divisor of 0 means that there was no gradient so far. A NaN propagates.
    const auto is_zero =
        hn::Or(hn::Le(hn::Abs(linear), l1), hn::Eq(divisor, hn::Zero(D())));
    value = hn::IfThenElse(is_zero, hn::Zero(D()), hn::Div(excess, divisor));
  }

  V rate;
  V l1;         // multiplied by the rate
  V l2;         // 2 * rate * l2 + beta
  V shrinkage;  // doubled
  Power power;
};

void SquareRootKernel(const KernelCall& call) {
  RunKernel<Rule<SquareRoot>>(call);
}
void OneKernel(const KernelCall& call) { RunKernel<Rule<One>>(call); }
void AnyPowerKernel(const KernelCall& call) { RunKernel<Rule<AnyPower>>(call); }

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(SquareRootKernel);
void RunSquareRoot(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(SquareRootKernel)(call);
}
HWY_EXPORT(OneKernel);
void RunOne(const KernelCall& call) { HWY_DYNAMIC_DISPATCH(OneKernel)(call); }
HWY_EXPORT(AnyPowerKernel);
void RunAnyPower(const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(AnyPowerKernel)(call);
}

Kernel KernelOf(const Ftrl& rule) {
  if (rule.learning_rate_power == -0.5) return RunSquareRoot;
  return rule.learning_rate_power == 0 ? RunOne : RunAnyPower;
}

class FtrlUpdater final : public KernelUpdater {
 public:
  FtrlUpdater(const Ftrl& rule, const Optimizer& optimizer)
      : KernelUpdater(
            optimizer, KernelOf(rule),
            {{.name = "accumulator",
              .initial = static_cast<float>(rule.initial_accumulator)},
             {.name = "linear"}}),
        rule_(rule) {}

 private:
  RuleScalars Prepare(const OptimizerState&, double rate) const override {
    return FtrlScalars{
        .rate = static_cast<float>(rate),
        .l1 = static_cast<float>(rate * rule_.l1),
        .l2 = static_cast<float>(2 * rate * rule_.l2 + rule_.beta),
        .shrinkage = static_cast<float>(2 * rule_.l2_shrinkage),
        .power = static_cast<float>(-rule_.learning_rate_power)};
  }

  const Ftrl rule_;
};

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const Ftrl& rule,
                                           const Optimizer& optimizer) {
  return std::make_unique<FtrlUpdater>(rule, optimizer);
}

}  // namespace capstan
#endif  // HWY_ONCE
