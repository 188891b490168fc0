#include "tensor/tensor.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace capstan {
namespace {

// A tensor that owns `buffer`, which must have the right size.
Tensor Own(DType dtype, const Shape& shape, Buffer buffer) {
  if (buffer.size() == 0) return Tensor(dtype, shape, nullptr);
  auto owner = std::make_shared<Buffer>(std::move(buffer));
  void* data = owner->data();
  return Tensor(dtype, shape, std::shared_ptr<void>(std::move(owner), data));
}

}  // namespace

absl::StatusOr<Tensor> AllocateTensor(DType dtype, const Shape& shape,
                                      Fill fill) {
  CAPSTAN_RETURN_IF_ERROR(DTypeFromCode(CodeOf(dtype)).status());
  if (dtype == DType::kBool) fill = Fill::kZero;
  absl::StatusOr<Buffer> buffer =
      Buffer::Allocate(ByteSize(dtype, shape), fill);
  if (!buffer.ok()) {
    return WithContext(buffer.status(), Describe(dtype, shape));
  }
  return Own(dtype, shape, *std::move(buffer));
}

absl::StatusOr<Tensor> CopyTensor(const TensorView& view) {
  absl::StatusOr<Tensor> tensor =
      AllocateTensor(view.dtype(), view.shape(), Fill::kNone);
  CAPSTAN_RETURN_IF_ERROR(tensor.status());
  CAPSTAN_RETURN_IF_ERROR(Copy(view, tensor->mutable_view()));
  return tensor;
}

absl::StatusOr<Tensor> MakeTensor(DType dtype, const Shape& shape,
                                  Buffer buffer) {
  CAPSTAN_RETURN_IF_ERROR(DTypeFromCode(CodeOf(dtype)).status());
  if (buffer.size() != ByteSize(dtype, shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(dtype, shape), " takes ", ByteSize(dtype, shape),
                     " bytes, not ", buffer.size()));
  }
  return Own(dtype, shape, std::move(buffer));
}

Tensor::Tensor() noexcept : Tensor(DType::kF32, {0}, nullptr) {}

Tensor::Tensor(DType dtype, const Shape& shape,
               std::shared_ptr<void> memory) noexcept
    : dtype_(dtype), shape_(shape), memory_(std::move(memory)) {}

Tensor Tensor::Zeros(DType dtype, const Shape& shape) {
  return ValueOrThrow(AllocateTensor(dtype, shape, Fill::kZero));
}

Tensor Tensor::Uninitialized(DType dtype, const Shape& shape) {
  return ValueOrThrow(AllocateTensor(dtype, shape, Fill::kNone));
}

Tensor Tensor::CopyOf(const TensorView& view) {
  return ValueOrThrow(CopyTensor(view));
}

Tensor Tensor::CopyValues(DType dtype, const Shape& shape, const void* values,
                          size_t count) {
  if (count != static_cast<size_t>(shape.num_elements())) {
    ThrowIfError(absl::InvalidArgumentError(absl::StrCat(
        count, " values for a tensor of shape ", shape.ToString())));
  }
  return CopyOf(TensorView(dtype, shape, values));
}

TensorView Tensor::view() const noexcept {
  return TensorView(dtype_, shape_, memory_.get());
}

MutableTensorView Tensor::mutable_view() noexcept {
  return MutableTensorView(dtype_, shape_, memory_.get());
}

bool operator==(const Tensor& a, const Tensor& b) noexcept {
  return BitwiseEqual(a.view(), b.view());
}

}  // namespace capstan
