#include "tensor/shape.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"

namespace capstan {
namespace {

std::string DimsToString(std::span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
}

int64_t Product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1},
                         std::multiplies<>());
}

}  // namespace

absl::Status CheckDims(std::span<const int64_t> dims) {
  if (dims.size() > Shape::kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("a shape has at most ", Shape::kMaxRank,
                     " dimensions, not ", dims.size()));
  }
  int64_t elements = 1;
  for (int64_t dim : dims) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("negative dimension in shape ", DimsToString(dims)));
    }
    std::optional<int64_t> product =
        CheckedMul(elements, std::max<int64_t>(dim, 1));
    if (!product.has_value() || *product > Shape::kMaxElements) {
      return absl::InvalidArgumentError(
          absl::StrCat("too many elements in shape ", DimsToString(dims)));
    }
    elements = *product;
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> MakeShape(std::span<const int64_t> dims) {
  CAPSTAN_RETURN_IF_ERROR(CheckDims(dims));
  return Shape(dims);
}

Shape::Shape(std::initializer_list<int64_t> dims)
    : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) {
  ThrowIfError(CheckDims(dims));
  std::copy(dims.begin(), dims.end(), dims_.begin());
  rank_ = static_cast<int>(dims.size());
}

int64_t Shape::num_elements() const noexcept { return Product(dims()); }

int64_t Shape::row_elements() const noexcept {
  return rank_ == 0 ? 1 : Product(dims().subspan(1));
}

std::string Shape::ToString() const { return DimsToString(dims()); }

size_t ByteSize(DType dtype, const Shape& shape) noexcept {
  return static_cast<size_t>(shape.num_elements()) * SizeOf(dtype);
}

}  // namespace capstan
