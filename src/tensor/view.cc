#include "tensor/view.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace capstan {
namespace {

bool IsAligned(const void* data, size_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

absl::Status CheckBools(std::span<const std::byte> bytes) {
  auto bad = std::find_if(bytes.begin(), bytes.end(),
                          [](std::byte byte) { return byte > std::byte{1}; });
  if (bad == bytes.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("element ", bad - bytes.begin(), " of a bool tensor is ",
                   std::to_integer<int>(*bad), ", not 0 or 1"));
}

// The location of rows [begin, end): their shape, and the bytes before them.
struct RowRange {
  Shape shape;
  size_t offset;
};

absl::StatusOr<RowRange> LocateRows(const TensorView& view, int64_t begin,
                                    int64_t end) {
  const Shape& shape = view.shape();
  if (shape.rank() == 0) {
    return absl::InvalidArgumentError("a scalar has no rows to slice");
  }
  if (begin < 0 || begin > end || end > shape.num_rows()) {
    return absl::OutOfRangeError(absl::StrCat("rows ", begin, " to ", end,
                                              " of a tensor of shape ",
                                              shape.ToString()));
  }
  std::array<int64_t, Shape::kMaxRank> dims{};
  std::copy(shape.dims().begin(), shape.dims().end(), dims.begin());
  dims[0] = end - begin;
  // Part of a valid shape is valid, so neither of these can overflow.
  size_t row_bytes =
      static_cast<size_t>(shape.row_elements()) * SizeOf(view.dtype());
  return RowRange{Shape(std::span(dims).first(shape.dims().size())),
                  static_cast<size_t>(begin) * row_bytes};
}

}  // namespace

std::string Describe(DType dtype, const Shape& shape) {
  return std::string(NameOf(dtype)) + shape.ToString();
}

std::string Describe(const TensorView& view) {
  return Describe(view.dtype(), view.shape());
}

absl::Status CheckValues(const TensorView& view, DType wanted) {
  if (view.dtype() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("elements of ", Describe(view), " used as ",
                     std::string(NameOf(wanted))));
  }
  // An element's alignment is its size, for every DType.
  if (!IsAligned(view.bytes().data(), SizeOf(wanted))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the memory of ", Describe(view), " is not aligned for its elements"));
  }
  if (wanted == DType::kBool) return CheckBools(view.bytes());
  return absl::OkStatus();
}

absl::StatusOr<TensorView> SliceRows(const TensorView& view, int64_t begin,
                                     int64_t end) {
  absl::StatusOr<RowRange> range = LocateRows(view, begin, end);
  CAPSTAN_RETURN_IF_ERROR(range.status());
  return TensorView(view.dtype(), range->shape,
                    view.bytes().subspan(range->offset).data());
}

absl::StatusOr<MutableTensorView> SliceRows(const MutableTensorView& view,
                                            int64_t begin, int64_t end) {
  absl::StatusOr<RowRange> range = LocateRows(view, begin, end);
  CAPSTAN_RETURN_IF_ERROR(range.status());
  return MutableTensorView(view.dtype(), range->shape,
                           view.mutable_bytes().subspan(range->offset).data());
}

absl::Status Copy(const TensorView& from, const MutableTensorView& to) {
  if (from.dtype() != to.dtype() || from.shape() != to.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot copy ", Describe(from), " to ", Describe(to)));
  }
  if (from.bytes().empty()) return absl::OkStatus();
  std::memmove(to.mutable_bytes().data(), from.bytes().data(),
               from.bytes().size());
  return absl::OkStatus();
}

bool BitwiseEqual(const TensorView& a, const TensorView& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.bytes().empty() ||
         std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
}

TensorView::TensorView(DType dtype, const Shape& shape,
                       const void* data) noexcept
    : dtype_(dtype),
      shape_(shape),
      data_(static_cast<const std::byte*>(data)) {}

void TensorView::CheckValues(DType wanted) const {
  ThrowIfError(capstan::CheckValues(*this, wanted));
}

TensorView TensorView::SliceRows(int64_t begin, int64_t end) const {
  return ValueOrThrow(capstan::SliceRows(*this, begin, end));
}

MutableTensorView::MutableTensorView(DType dtype, const Shape& shape,
                                     void* data) noexcept
    : TensorView(dtype, shape, data), data_(static_cast<std::byte*>(data)) {}

MutableTensorView MutableTensorView::SliceRows(int64_t begin,
                                               int64_t end) const {
  return ValueOrThrow(capstan::SliceRows(*this, begin, end));
}

}  // namespace capstan
