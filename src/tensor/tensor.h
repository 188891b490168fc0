// How tensors are made inside Capstan, without exceptions. The class is
// public, in capstan/tensor.h; its functions that throw call these.
// Thread-safe: pure functions.
#pragma once

#include "base/status.h"
#include "capstan/tensor.h"
#include "tensor/buffer.h"

namespace capstan {

// A new tensor. kResourceExhausted, naming dtype and shape, if there is not
// enough memory; kInvalidArgument if `dtype` is none. Bools are zeroed even
// with Fill::kNone, as a byte that is neither 0 nor 1 is no bool.
absl::StatusOr<Tensor> AllocateTensor(DType dtype, const Shape& shape,
                                      Fill fill);

// A new tensor with the elements of `view`; fails as AllocateTensor.
absl::StatusOr<Tensor> CopyTensor(const TensorView& view);

// A tensor in memory that was filled before, such as an attachment from the
// wire; takes the buffer, copies nothing. kInvalidArgument unless the buffer's
// size is that of the tensor.
absl::StatusOr<Tensor> MakeTensor(DType dtype, const Shape& shape,
                                  Buffer buffer);

}  // namespace capstan
