#include "tensor/npy_elements.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tensor/tensor.h"

namespace capstan {
namespace {

static_assert(std::endian::native == std::endian::little,
              "plain elements are those of little-endian files");

uint8_t Swapped(uint8_t x) { return x; }
uint16_t Swapped(uint16_t x) { return __builtin_bswap16(x); }
uint32_t Swapped(uint32_t x) { return __builtin_bswap32(x); }
uint64_t Swapped(uint64_t x) { return __builtin_bswap64(x); }

// `Stored` is the type in the file, `Bits` an unsigned type of the same size.
template <typename Stored, typename Bits, typename Held>
void DecodeAs(bool big_endian, Bytes from, MutableBytes to) {
  const size_t count = from.size() / sizeof(Stored);
  for (size_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, from.data() + i * sizeof bits, sizeof bits);
    if (big_endian) bits = Swapped(bits);
    const auto held = static_cast<Held>(static_cast<Stored>(bits));
    std::memcpy(to.data() + i * sizeof held, &held, sizeof held);
  }
}

// Copies elements of kSize bytes from Fortran order to C order.
template <size_t kSize>
void ReorderAs(const Shape& shape, Bytes from, MutableBytes to) {
  const int last = shape.rank() - 1;
  // The distance in the file, in elements, between neighbours along each axis.
  std::array<size_t, Shape::kMaxRank> strides = {1};
  for (int axis = 1; axis <= last; ++axis) {
    const auto before = static_cast<size_t>(axis - 1);
    strides.at(before + 1) =
        strides.at(before) * static_cast<size_t>(shape[axis - 1]);
  }
  const size_t step = strides.at(static_cast<size_t>(last)) * kSize;
  std::array<int64_t, Shape::kMaxRank> index = {};
  std::byte* out = to.data();
  std::byte* const end = out + to.size();
  const std::byte* row = from.data();
  while (out < end) {
    const std::byte* in = row;
    for (int64_t i = 0; i < shape[last]; ++i, in += step, out += kSize) {
      std::memcpy(out, in, kSize);
    }
    // Advance the index of all axes but the last.
    for (int axis = last - 1; axis >= 0; --axis) {
      const auto at = static_cast<size_t>(axis);
      row += strides.at(at) * kSize;
      if (++index.at(at) < shape[axis]) break;
      row -= strides.at(at) * kSize * static_cast<size_t>(shape[axis]);
      index.at(at) = 0;
    }
  }
}

void Reorder(const NpyHeader& header, Bytes from, MutableBytes to) {
  switch (header.stored_size) {
    case 1:
      return ReorderAs<1>(header.shape, from, to);
    case 2:
      return ReorderAs<2>(header.shape, from, to);
    case 4:
      return ReorderAs<4>(header.shape, from, to);
    default:
      return ReorderAs<8>(header.shape, from, to);
  }
}

}  // namespace

bool IsPlain(const NpyHeader& header) {
  return !header.big_endian && header.stored_size == SizeOf(header.dtype);
}

void DecodeNpy(const NpyHeader& header, Bytes from, MutableBytes to) {
  const bool big = header.big_endian;
  const bool widened = header.stored_size != SizeOf(header.dtype);
  switch (header.stored_size) {
    case 1:
      return widened ? DecodeAs<int8_t, uint8_t, int32_t>(big, from, to)
                     : DecodeAs<uint8_t, uint8_t, uint8_t>(big, from, to);
    case 2:
      if (!widened) {
        return DecodeAs<uint16_t, uint16_t, uint16_t>(big, from, to);
      }
      return header.is_signed
                 ? DecodeAs<int16_t, uint16_t, int32_t>(big, from, to)
                 : DecodeAs<uint16_t, uint16_t, int32_t>(big, from, to);
    case 4:
      return widened ? DecodeAs<uint32_t, uint32_t, int64_t>(big, from, to)
                     : DecodeAs<uint32_t, uint32_t, uint32_t>(big, from, to);
    default:
      return DecodeAs<uint64_t, uint64_t, uint64_t>(big, from, to);
  }
}

absl::StatusOr<Tensor> MakeNpyTensor(const NpyHeader& header, Buffer stored) {
  if (header.fortran_order) {
    absl::StatusOr<Buffer> rows = Buffer::Allocate(stored.size(), Fill::kNone);
    CAPSTAN_RETURN_IF_ERROR(rows.status());
    Reorder(header, stored.bytes(), rows->mutable_bytes());
    stored = *std::move(rows);
  }
  if (IsPlain(header)) {
    return MakeTensor(header.dtype, header.shape, std::move(stored));
  }
  absl::StatusOr<Tensor> tensor =
      AllocateTensor(header.dtype, header.shape, Fill::kNone);
  CAPSTAN_RETURN_IF_ERROR(tensor.status());
  DecodeNpy(header, stored.bytes(), tensor->mutable_view().mutable_bytes());
  return tensor;
}

}  // namespace capstan
