// Operations on views inside Capstan: the checks and slices of the classes in
// capstan/tensor.h without exceptions, plus copy and compare.
// Thread-safe: pure functions of memory that the caller guards.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "capstan/tensor.h"

namespace capstan {

// "f32[3, 4]", for messages.
std::string Describe(DType dtype, const Shape& shape);
std::string Describe(const TensorView& view);

// OK if the elements can be used as the C++ type of `wanted`: the dtype is
// `wanted`, the memory is aligned for it, and bools are 0 or 1 (any other byte
// in a C++ bool is undefined behaviour, and a peer can send one). Otherwise
// kInvalidArgument.
absl::Status CheckValues(const TensorView& view, DType wanted);

// The elements of `view`, or the error of CheckValues.
template <Element T>
absl::StatusOr<std::span<const T>> ValuesOf(const TensorView& view) {
  CAPSTAN_RETURN_IF_ERROR(CheckValues(view, DTypeOf<T>()));
  return std::span(reinterpret_cast<const T*>(view.bytes().data()),
                   view.bytes().size() / sizeof(T));
}
template <Element T>
absl::StatusOr<std::span<T>> MutableValuesOf(const MutableTensorView& view) {
  CAPSTAN_RETURN_IF_ERROR(CheckValues(view, DTypeOf<T>()));
  return std::span(reinterpret_cast<T*>(view.mutable_bytes().data()),
                   view.bytes().size() / sizeof(T));
}

// The rows [begin, end) of the first axis, in the same memory. kOutOfRange,
// naming the range and the number of rows, unless 0 <= begin <= end <= the
// number of rows; kInvalidArgument for a scalar.
absl::StatusOr<TensorView> SliceRows(const TensorView& view, int64_t begin,
                                     int64_t end);
absl::StatusOr<MutableTensorView> SliceRows(const MutableTensorView& view,
                                            int64_t begin, int64_t end);

// Copies the elements of `from` to `to`, which may overlap. Dtype and shape
// must be the same; otherwise kInvalidArgument, naming both, and nothing is
// written.
absl::Status Copy(const TensorView& from, const MutableTensorView& to);

// Whether dtype, shape and bytes are the same.
bool BitwiseEqual(const TensorView& a, const TensorView& b);

}  // namespace capstan
