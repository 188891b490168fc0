#include "optimizer/widen.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/widen.cc"
#include <cstdint>
#include <cstring>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "optimizer/load_bytes.inc"

HWY_BEFORE_NAMESPACE();
namespace capstan::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<uint32_t>;
using V = hn::Vec<D>;
using DHalf = hn::Rebind<uint16_t, D>;

constexpr size_t kLanes = hn::MaxLanes(D());

struct FromBFloat16 {
  HWY_INLINE V operator()(V half) const { return hn::ShiftLeft<16>(half); }
};

// Uses integers and one exact subtraction instead of the processor's own
// conversion, which not all processors have, and which is no faster, since
// memory is the limit.
struct FromFloat16 {
  HWY_INLINE V operator()(V half) const {
    const hn::RebindToFloat<D> df;
    const V magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(D(), 0x7fff)));
    const V exponent = hn::And(magnitude, hn::Set(D(), 0x0f80'0000));
    const V rebias = hn::Set(D(), (127 - 15) << 23);
    const V normal = hn::Add(magnitude, rebias);
    // Infinity and NaN: rebiased once more, to the largest exponent.
    const V infinity = hn::Set(D(), 0x7f80'0000);
    V special = hn::Add(normal, rebias);
    special = hn::Or(special, hn::IfThenZeroElse(hn::Eq(special, infinity),
                                                 hn::Set(D(), 0x0040'0000)));
    // Subnormal: as a fraction of 2^-14 with a leading 1, which is subtracted.
    const V smallest = hn::Set(D(), 113 << 23);
    const V subnormal =
        hn::BitCast(D(), hn::Sub(hn::BitCast(df, hn::Add(magnitude, smallest)),
                                 hn::BitCast(df, smallest)));
    V result =
        hn::IfThenElse(hn::Eq(exponent, hn::Zero(D())), subnormal, normal);
    result = hn::IfThenElse(hn::Eq(exponent, hn::Set(D(), 0x0f80'0000)),
                            special, result);
    const V sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(D(), 0x8000)));
    return hn::Or(sign, result);
  }
};

template <typename Convert>
HWY_INLINE void WidenVector(const std::byte* in, float* out) {
  const V wide = Convert()(hn::PromoteTo(D(), LoadBytes(DHalf(), in)));
  const hn::RebindToFloat<D> df;
  hn::StoreU(hn::BitCast(df, wide), df, out);
}

template <typename Convert>
void WidenAll(const std::byte* in, size_t n, float* out) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    WidenVector<Convert>(in + 2 * i, out + i);
  if (i == n) return;
  std::byte in_tail[2 * kLanes] = {};
  float out_tail[kLanes];
  std::memcpy(in_tail, in + 2 * i, 2 * (n - i));
  WidenVector<Convert>(in_tail, out_tail);
  std::memcpy(out + i, out_tail, sizeof(float) * (n - i));
}

void WidenFloat16(const std::byte* in, size_t n, float* out) {
  WidenAll<FromFloat16>(in, n, out);
}
void WidenBFloat16(const std::byte* in, size_t n, float* out) {
  WidenAll<FromBFloat16>(in, n, out);
}

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

HWY_EXPORT(WidenFloat16);
HWY_EXPORT(WidenBFloat16);

void Widen(DType from, const std::byte* in, size_t n, float* out) {
  switch (from) {
    case DType::kF16:
      return HWY_DYNAMIC_DISPATCH(WidenFloat16)(in, n, out);
    case DType::kBF16:
      return HWY_DYNAMIC_DISPATCH(WidenBFloat16)(in, n, out);
    default:
      if (n != 0) std::memcpy(out, in, n * sizeof(float));
  }
}

}  // namespace capstan
#endif  // HWY_ONCE
