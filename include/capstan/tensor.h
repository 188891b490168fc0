// Tensors: typed, shaped blocks of memory, the values that variables hold and
// steps exchange. Capstan moves and compares them; to compute, use the typed
// values, or hand the memory to a library such as libtorch.
//
//   auto weights = Tensor::FromValues({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
//   for (float& w : weights.MutableValues<float>()) w *= 0.5f;
//
// Misuse throws capstan::Error (error.h); what cannot throw is noexcept.
// Thread-safety: as the standard containers. Elements are stored row by row,
// in the machine's byte order.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>

#include "capstan/export.h"

namespace capstan {

// The type of an element. The numbers are the codes on the wire and in files:
// they never change and are never reused; 0 is not a type.
enum class DType : std::uint8_t {
  kF32 = 1,
  kF64 = 2,
  kF16 = 3,
  kBF16 = 4,
  kI32 = 5,
  kI64 = 6,
  kU8 = 7,
  kBool = 8,  // One byte: 0 or 1, nothing else.
};

// The size of an element in bytes, and the type's name ("f32", "bf16", "bool"):
// 0 and "invalid" for a number that is not a DType.
CAPSTAN_EXPORT std::size_t SizeOf(DType dtype) noexcept;
CAPSTAN_EXPORT std::string_view NameOf(DType dtype) noexcept;

// Storage for 16-bit floats; arithmetic is done in float. Conversion from float
// rounds to nearest, ties to even: overflow gives infinity, subnormals are
// kept, and a NaN stays a NaN (quiet, with its sign and leading payload bits).
// Conversion to float is exact, except that a Float16 NaN becomes quiet. There
// is no ==: compare the floats, or the bits.
//
// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits.
struct CAPSTAN_EXPORT Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) noexcept;
  explicit operator float() const noexcept;
};

// The upper half of a float: 1, 8 and 7 bits.
struct CAPSTAN_EXPORT BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) noexcept;
  explicit operator float() const noexcept;
};

// The C++ types that are elements of tensors.
template <typename T>
concept Element = std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, Float16> || std::same_as<T, BFloat16> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::uint8_t> || std::same_as<T, bool>;

// The DType of a C++ type.
template <Element T>
constexpr DType DTypeOf() noexcept {
  if constexpr (std::same_as<T, float>) return DType::kF32;
  if constexpr (std::same_as<T, double>) return DType::kF64;
  if constexpr (std::same_as<T, Float16>) return DType::kF16;
  if constexpr (std::same_as<T, BFloat16>) return DType::kBF16;
  if constexpr (std::same_as<T, std::int32_t>) return DType::kI32;
  if constexpr (std::same_as<T, std::int64_t>) return DType::kI64;
  if constexpr (std::same_as<T, std::uint8_t>) return DType::kU8;
  if constexpr (std::same_as<T, bool>) return DType::kBool;
}

// The sizes of a tensor along its axes. A scalar has rank 0; an axis of size 0
// makes a tensor without elements.
//
// Every Shape that exists is sound: no size computed from it (elements or
// bytes, of the whole, of a row or of a part) overflows a signed 64-bit
// integer. So the check happens once, where the dims come in.
class CAPSTAN_EXPORT Shape {
 public:
  static constexpr int kMaxRank = 8;
  // The maximum number of elements, not counting axes of size 0: times 8 bytes,
  // the largest element, it still fits in a signed 64-bit integer.
  static constexpr std::int64_t kMaxElements = INT64_MAX / 8;

  Shape() noexcept = default;  // a scalar

  // Throws kInvalidArgument if there are more than kMaxRank dims, a negative
  // one, or too many elements.
  Shape(std::initializer_list<std::int64_t> dims);
  explicit Shape(std::span<const std::int64_t> dims);

  // The number of axes, their sizes (a view that lives as long as this
  // object), and the size of one; `axis` must be in [0, rank()), as for an
  // array.
  int rank() const noexcept { return rank_; }
  std::span<const std::int64_t> dims() const noexcept {
    return {dims_.data(), static_cast<std::size_t>(rank_)};
  }
  std::int64_t operator[](int axis) const noexcept {
    return dims_[static_cast<std::size_t>(axis)];
  }

  // The product of the dims: 1 for a scalar, 0 if any of them is 0.
  std::int64_t num_elements() const noexcept;

  // The first axis, along which variables are cut: how many rows there are,
  // and the elements in each. A scalar counts as one row of one element.
  std::int64_t num_rows() const noexcept { return rank_ == 0 ? 1 : dims_[0]; }
  std::int64_t row_elements() const noexcept;

  // For messages: "[3, 4]"; "[]" for a scalar.
  std::string ToString() const;

  // The same rank and the same dims; [1] is not [].
  friend bool operator==(const Shape&, const Shape&) noexcept = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};  // 0 from rank_ on
  int rank_ = 0;
};

// The size in bytes of a tensor; the invariant of Shape keeps it in range.
CAPSTAN_EXPORT std::size_t ByteSize(DType dtype, const Shape& shape) noexcept;

// A read-only view of a tensor in memory that belongs to someone else. A small
// value: copying it copies no elements, and it must not outlive the memory.
class CAPSTAN_EXPORT TensorView {
 public:
  // `data` holds ByteSize(dtype, shape) bytes, of any alignment; it may be
  // null if that is 0.
  TensorView(DType dtype, const Shape& shape, const void* data) noexcept;

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }

  // All of the memory; never fails, whatever the dtype.
  std::span<const std::byte> bytes() const noexcept {
    return {data_, ByteSize(dtype_, shape_)};
  }

  // The elements. Throws kInvalidArgument if dtype() is not that of T, if the
  // memory is not aligned for T, or if T is bool and a byte is neither 0 nor 1
  // (which takes a pass over them; otherwise this is as cheap as bytes()).
  template <Element T>
  std::span<const T> Values() const {
    CheckValues(DTypeOf<T>());
    return {reinterpret_cast<const T*>(data_), num_elements()};
  }

  // The rows [begin, end) of the first axis, in the same memory. Throws
  // kOutOfRange unless 0 <= begin <= end <= shape().num_rows(), and
  // kInvalidArgument for a scalar, which has no rows.
  TensorView SliceRows(std::int64_t begin, std::int64_t end) const;

 protected:
  void CheckValues(DType wanted) const;
  std::size_t num_elements() const noexcept {
    return static_cast<std::size_t>(shape_.num_elements());
  }

 private:
  DType dtype_;
  Shape shape_;
  const std::byte* data_;
};

// A TensorView through which the elements may also be written; it can be passed
// wherever a TensorView is expected. Like a span, it is a value whose constness
// says nothing about the memory's.
class CAPSTAN_EXPORT MutableTensorView : public TensorView {
 public:
  // As for TensorView.
  MutableTensorView(DType dtype, const Shape& shape, void* data) noexcept;

  // Writable versions of bytes() and Values(), with the same errors. What is
  // written to bools through the bytes must be 0 or 1.
  std::span<std::byte> mutable_bytes() const noexcept {
    return {data_, bytes().size()};
  }
  template <Element T>
  std::span<T> MutableValues() const {
    CheckValues(DTypeOf<T>());
    return {reinterpret_cast<T*>(data_), num_elements()};
  }

  // As TensorView::SliceRows, with the same errors.
  MutableTensorView SliceRows(std::int64_t begin, std::int64_t end) const;

 private:
  std::byte* data_;
};

// A tensor that owns its memory.
//
// A handle: copies share the memory, as in libtorch, and the last one frees it.
// The memory is shared rather than moved because a request in flight, a result
// that is fetched twice and a libtorch tensor on the same memory all need it to
// outlive the caller's handle. So a write is visible in every copy: write
// before sharing, or share a CopyOf. Reading from several threads is safe;
// writing needs exclusive access to the memory, not just to the handle. A
// moved-from Tensor may only be assigned to or destroyed.
class CAPSTAN_EXPORT Tensor {
 public:
  // An f32 tensor of shape [0].
  Tensor() noexcept;

  // A tensor on memory that the caller supplies, which is kept alive and not
  // copied. It must hold ByteSize(dtype, shape) bytes; the typed values need it
  // to be aligned for the element.
  Tensor(DType dtype, const Shape& shape,
         std::shared_ptr<void> memory) noexcept;

  // New tensors, in memory aligned to 64 bytes. Each throws
  // kResourceExhausted, naming the size, if there is not enough memory.

  // All elements 0.
  static Tensor Zeros(DType dtype, const Shape& shape);

  // Elements with unspecified values, to be overwritten; bools are false.
  static Tensor Uninitialized(DType dtype, const Shape& shape);

  // A copy of the elements of `view`.
  static Tensor CopyOf(const TensorView& view);

  // A copy of `values`, whose type decides the DType. Throws kInvalidArgument
  // unless there are shape.num_elements() of them.
  template <std::ranges::contiguous_range Range>
  requires Element<std::ranges::range_value_t<Range>>
  static Tensor FromValues(const Shape& shape, const Range& values) {
    return CopyValues(DTypeOf<std::ranges::range_value_t<Range>>(), shape,
                      std::ranges::data(values), std::ranges::size(values));
  }
  template <Element T>
  static Tensor FromValues(const Shape& shape,
                           std::initializer_list<T> values) {
    return CopyValues(DTypeOf<T>(), shape, values.begin(), values.size());
  }

  // A tensor of rank 0 that holds `value`.
  template <Element T>
  static Tensor Scalar(T value) {
    return CopyValues(DTypeOf<T>(), Shape(), &value, 1);
  }

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }

  // The whole tensor as a view; valid while a handle to the memory lives.
  TensorView view() const noexcept;
  MutableTensorView mutable_view() noexcept;

  // As in the views, with the same errors.
  template <Element T>
  std::span<const T> Values() const {
    return view().Values<T>();
  }
  template <Element T>
  std::span<T> MutableValues() {
    return mutable_view().MutableValues<T>();
  }

  // The memory, for keeping it alive beyond this handle; null if it is empty.
  const std::shared_ptr<void>& memory() const noexcept { return memory_; }

  // The same dtype, shape and bytes: a NaN equals itself, and -0 is not 0.
  friend bool operator==(const Tensor& a, const Tensor& b) noexcept;

 private:
  static Tensor CopyValues(DType dtype, const Shape& shape, const void* values,
                           std::size_t count);

  DType dtype_;
  Shape shape_;
  std::shared_ptr<void> memory_;
};

}  // namespace capstan
