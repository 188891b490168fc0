#include "optimizer/find_nonfinite.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/find_nonfinite.cc"
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "optimizer/load_bytes.inc"

HWY_BEFORE_NAMESPACE();
namespace capstan::HWY_NAMESPACE {
namespace {

// Infinities and NaNs are the numbers whose exponent bits are all set. `T` is
// the unsigned integer of an element's size.
template <std::unsigned_integral T>
class Search {
 public:
  using D = hn::ScalableTag<T>;

  Search(const std::byte* data, size_t size, T exponent)
      : data_(data), size_(size), exponent_(exponent) {}

  // The index of the first infinity or NaN, or `size` if there is none.
  size_t First() const {
    // Blocks first, since one test for several vectors is faster.
    constexpr size_t kBlock = 4 * hn::MaxLanes(D());
    size_t i = 0;
    while (i + kBlock <= size_ && !InBlock(data_ + i * sizeof(T))) i += kBlock;
    while (i < size_ && !At(i)) ++i;
    return i;
  }

 private:
  HWY_INLINE hn::Mask<D> InVector(const std::byte* data) const {
    const auto bits = LoadBytes(D(), data);
    const auto exponent = hn::Set(D(), exponent_);
    return hn::Eq(hn::And(bits, exponent), exponent);
  }

  HWY_INLINE bool InBlock(const std::byte* data) const {
    constexpr size_t kBytes = hn::MaxLanes(D()) * sizeof(T);
    const auto found = hn::Or(
        hn::Or(InVector(data), InVector(data + kBytes)),
        hn::Or(InVector(data + 2 * kBytes), InVector(data + 3 * kBytes)));
    return !hn::AllFalse(D(), found);
  }

  bool At(size_t index) const {
    T bits = 0;
    std::memcpy(&bits, data_ + index * sizeof(T), sizeof(T));
    return (bits & exponent_) == exponent_;
  }

  const std::byte* const data_;
  const size_t size_;
  const T exponent_;
};

size_t First16(const std::byte* data, size_t size, uint16_t exponent) {
  return Search<uint16_t>(data, size, exponent).First();
}
size_t First32(const std::byte* data, size_t size, uint32_t exponent) {
  return Search<uint32_t>(data, size, exponent).First();
}
size_t First64(const std::byte* data, size_t size, uint64_t exponent) {
  return Search<uint64_t>(data, size, exponent).First();
}

}  // namespace
}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(First16);
HWY_EXPORT(First32);
HWY_EXPORT(First64);

// The index of the first infinity or NaN in `size` elements, or `size`.
size_t First(DType dtype, const std::byte* data, size_t size) {
  switch (dtype) {
    case DType::kF16:
      return HWY_DYNAMIC_DISPATCH(First16)(data, size, 0x7c00);
    case DType::kBF16:
      return HWY_DYNAMIC_DISPATCH(First16)(data, size, 0x7f80);
    case DType::kF32:
      return HWY_DYNAMIC_DISPATCH(First32)(data, size, 0x7f80'0000);
    case DType::kF64:
      return HWY_DYNAMIC_DISPATCH(First64)(data, size, 0x7ff0'0000'0000'0000);
    default:
      return size;
  }
}

}  // namespace

std::optional<size_t> FindNonFinite(DType dtype, Bytes values) {
  const size_t size = values.size() / SizeOf(dtype);
  const size_t index = First(dtype, values.data(), size);
  if (index == size) return std::nullopt;
  return index;
}

}  // namespace capstan
#endif  // HWY_ONCE
