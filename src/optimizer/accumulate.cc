#include "optimizer/accumulate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/accumulate.cc"
#include <algorithm>
#include <array>
#include <cstring>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "optimizer/load_bytes.inc"
#include "optimizer/widen.h"

#ifndef CAPSTAN_OPTIMIZER_ACCUMULATE_ONCE
#define CAPSTAN_OPTIMIZER_ACCUMULATE_ONCE
namespace capstan {
namespace {

// Element i is added to sum i % 16, so that the order of additions is the same
// for every vector size.
using Sums = std::array<double, 16>;

}  // namespace
}  // namespace capstan
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan::HWY_NAMESPACE {
namespace {

void AddScaled(const float* in, float scale, float* out, size_t n) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, scale);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto product = hn::Mul(hn::LoadU(d, in + i), factor);
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), product), d, out + i);
  }
  for (; i < n; ++i) out[i] += in[i] * scale;
}

// `n` must be a multiple of 16. Squares of floats are exact in double.
void AddSquares(const std::byte* in, size_t n, Sums& sums) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<double>());
  constexpr size_t kVectors = std::tuple_size_v<Sums> / kLanes;
  hn::Vec<decltype(d)> totals[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    totals[v] = hn::LoadU(d, sums.data() + v * kLanes);
  }
  for (size_t i = 0; i < n; i += std::tuple_size_v<Sums>) {
    for (size_t v = 0; v < kVectors; ++v) {
      const auto x = hn::PromoteTo(
          d, LoadBytes(df, in + (i + v * kLanes) * sizeof(float)));
      totals[v] = hn::Add(totals[v], hn::Mul(x, x));
    }
  }
  for (size_t v = 0; v < kVectors; ++v) {
    hn::StoreU(totals[v], d, sums.data() + v * kLanes);
  }
}

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

HWY_EXPORT(AddScaled);
HWY_EXPORT(AddSquares);

void Accumulate(std::span<const float> in, float scale, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(AddScaled)(in.data(), scale, out.data(), out.size());
}

double SumOfSquares(DType dtype, const std::byte* data, size_t n) {
  Sums sums{};
  size_t done = 0;
  if (dtype == DType::kF32) {
    done = n / sums.size() * sums.size();
    HWY_DYNAMIC_DISPATCH(AddSquares)(data, done, sums);
  }
  // Converts the rest to floats, padded with zeroes, in blocks that stay in the
  // cache.
  constexpr size_t kBlock = 1024;
  std::array<float, kBlock> block;
  for (; done < n; done += std::min(kBlock, n - done)) {
    const size_t size = std::min(kBlock, n - done);
    Widen(dtype, data + done * SizeOf(dtype), size, block.data());
    const size_t padded = (size + sums.size() - 1) / sums.size() * sums.size();
    std::fill(block.data() + size, block.data() + padded, 0.0f);
    HWY_DYNAMIC_DISPATCH(AddSquares)
    (std::as_bytes(std::span(block)).data(), padded, sums);
  }
  for (size_t half = sums.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

}  // namespace capstan
#endif  // HWY_ONCE
