// Creates tensors inside Capstan, without exceptions. The class is public, in
// capstan/tensor.h; its throwing functions call these.
// Thread-safe: pure functions.
#pragma once

#include "base/status.h"
#include "capstan/tensor.h"
#include "tensor/buffer.h"

namespace capstan {

// A new tensor. kResourceExhausted, naming dtype and shape, if there is not
// enough memory; kInvalidArgument if `dtype` is not a valid DType. Bools are
// zeroed even with Fill::kNone, since a byte other than 0 or 1 is not a valid
// bool.
absl::StatusOr<Tensor> AllocateTensor(DType dtype, const Shape& shape,
                                      Fill fill);

// A new tensor with the elements of `view`; fails as AllocateTensor does.
absl::StatusOr<Tensor> CopyTensor(const TensorView& view);

// A tensor in memory that is already filled, such as an attachment from the
// wire; takes ownership of the buffer and copies nothing. kInvalidArgument
// unless the buffer has exactly the size of the tensor.
absl::StatusOr<Tensor> MakeTensor(DType dtype, const Shape& shape,
                                  Buffer buffer);

}  // namespace capstan
