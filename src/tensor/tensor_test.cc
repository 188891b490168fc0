#include "tensor/tensor.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace capstan {
namespace {

uintptr_t Address(const TensorView& view) {
  return reinterpret_cast<uintptr_t>(view.bytes().data());
}

TEST(TensorTest, TheDefaultHoldsNothing) {
  Tensor tensor;
  EXPECT_EQ(tensor.dtype(), DType::kF32);
  EXPECT_EQ(tensor.shape(), (Shape{0}));
  EXPECT_TRUE(tensor.Values<float>().empty());
  EXPECT_EQ(tensor, Tensor::Zeros(DType::kF32, {0}));
}

TEST(TensorTest, NewMemoryIsAlignedWhateverItsSizeAndType) {
  for (DType dtype : kAllDTypes) {
    for (int64_t rows : {1, 3, 64, 1'000'003}) {
      Tensor tensor = Tensor::Uninitialized(dtype, {rows, 5});
      EXPECT_EQ(Address(tensor.view()) % 64, 0u);
      EXPECT_EQ(tensor.view().bytes().size(), ByteSize(dtype, {rows, 5}));
    }
  }
}

TEST(TensorTest, ZerosAreZero) {
  Tensor tensor = Tensor::Zeros(DType::kF64, {1000, 7});
  for (double value : tensor.Values<double>()) ASSERT_EQ(value, 0.0);
}

TEST(TensorTest, BoolsAreBoolsEvenUninitialized) {
  for (int i = 0; i < 100; ++i) {
    Tensor dirty = Tensor::Uninitialized(DType::kU8, {100});
    std::ranges::fill(dirty.MutableValues<uint8_t>(), 0xee);
    dirty = Tensor();
    Tensor tensor = Tensor::Uninitialized(DType::kBool, {100});
    for (bool value : tensor.Values<bool>()) ASSERT_FALSE(value);
  }
}

TEST(TensorTest, TakesValuesFromAnyContiguousRange) {
  Tensor tensor = Tensor::FromValues({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  EXPECT_EQ(tensor.dtype(), DType::kF32);
  EXPECT_EQ(tensor.Values<float>()[3], 4.0f);
  std::vector<float> vector = {1, 2, 3, 4};
  EXPECT_EQ(Tensor::FromValues({2, 2}, vector), tensor);
  EXPECT_EQ(Tensor::FromValues({2, 2}, std::span<float>(vector)), tensor);
  const int64_t ids[] = {7, 8};
  EXPECT_EQ(Tensor::FromValues({2}, ids).dtype(), DType::kI64);
  EXPECT_TRUE(Tensor::FromValues({2}, {false, true}).Values<bool>()[1]);
  EXPECT_EQ(Tensor::FromValues({0, 3}, std::vector<double>()).shape(),
            (Shape{0, 3}));
  Tensor halves = Tensor::FromValues({1}, {Float16(0.5f)});
  EXPECT_EQ(static_cast<float>(halves.Values<Float16>()[0]), 0.5f);
  EXPECT_EQ(Tensor::Scalar(2.5).shape().rank(), 0);
  EXPECT_EQ(Tensor::Scalar(2.5).Values<double>()[0], 2.5);
}

TEST(TensorTest, RefusesAnotherNumberOfValues) {
  try {
    Tensor::FromValues({2, 2}, {1.0f, 2.0f, 3.0f});
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message(), "3 values for a tensor of shape [2, 2]");
  }
}

TEST(TensorTest, CopiesShareAndCopyOfDoesNot) {
  Tensor tensor = Tensor::FromValues({2}, {1, 2});
  Tensor handle = tensor;
  Tensor copy = Tensor::CopyOf(tensor.view());
  EXPECT_EQ(Address(handle.view()), Address(tensor.view()));
  EXPECT_NE(Address(copy.view()), Address(tensor.view()));
  EXPECT_EQ(copy, tensor);
  tensor.MutableValues<int32_t>()[0] = 10;
  EXPECT_EQ(handle.Values<int32_t>()[0], 10);
  EXPECT_NE(copy, tensor);
}

TEST(TensorTest, AnyHandleKeepsTheMemory) {
  Tensor tensor = Tensor::FromValues({2}, {1.5, 2.5});
  Tensor handle = tensor;
  std::shared_ptr<void> memory = tensor.memory();
  TensorView view = handle.view();
  tensor = Tensor();
  handle = Tensor();
  EXPECT_EQ(view.Values<double>()[1], 2.5);
}

TEST(TensorTest, AdoptsMemoryAndFreesItAsItsOwnerSays) {
  bool freed = false;
  double memory[2] = {1, 2};
  {
    Tensor tensor(DType::kF64, {2},
                  std::shared_ptr<void>(memory, [&](void*) { freed = true; }));
    Tensor handle = tensor;
    handle.MutableValues<double>()[0] = 5;
    EXPECT_FALSE(freed);
  }
  EXPECT_TRUE(freed);
  EXPECT_EQ(memory[0], 5.0);
}

TEST(TensorTest, TakesABufferOfTheRightSizeWithoutCopying) {
  Buffer buffer = Buffer::Allocate(24, Fill::kZero).value();
  const std::byte* data = buffer.data();
  Tensor tensor = MakeTensor(DType::kF32, {2, 3}, std::move(buffer)).value();
  EXPECT_EQ(tensor.view().bytes().data(), data);

  for (size_t size : {0u, 23u, 25u}) {
    Buffer wrong = Buffer::Allocate(size, Fill::kZero).value();
    absl::Status status =
        MakeTensor(DType::kF32, {2, 3}, std::move(wrong)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
  }
  EXPECT_TRUE(MakeTensor(DType::kF32, {0, 3}, Buffer()).ok());
}

TEST(TensorTest, EqualityIsBitwise) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Tensor::Scalar(nan), Tensor::Scalar(nan));
  EXPECT_NE(Tensor::Scalar(0.0f), Tensor::Scalar(-0.0f));
  EXPECT_NE(Tensor::Scalar(0.0f), Tensor::Scalar(int32_t{0}));
  EXPECT_NE(Tensor::Zeros(DType::kF32, {2, 3}),
            Tensor::Zeros(DType::kF32, {3, 2}));
  EXPECT_NE(Tensor::Zeros(DType::kF32, {0, 3}),
            Tensor::Zeros(DType::kF32, {0, 2}));
}

TEST(TensorTest, AbsurdSizesAreErrors) {
  Shape largest = {Shape::kMaxElements};
  for (DType dtype : kAllDTypes) {
    absl::Status status = AllocateTensor(dtype, largest, Fill::kZero).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  }
  try {
    Tensor::Uninitialized(DType::kF64, {int64_t{1} << 30, 1 << 20});
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
    EXPECT_EQ(error.message(),
              "f64[1073741824, 1048576]: cannot allocate 9007199254740992 "
              "bytes");
  }
}

TEST(TensorTest, RefusesANumberThatIsNoType) {
  DType bad = static_cast<DType>(99);
  EXPECT_EQ(AllocateTensor(bad, {2}, Fill::kZero).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeTensor(bad, {2}, Buffer()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CopyTensor(TensorView(bad, {2}, nullptr)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

RC_GTEST_PROP(TensorProperty, ACopyIsEqualUntilAnyBitDiffers, ()) {
  auto values = *rc::gen::nonEmpty<std::vector<uint8_t>>();
  Shape shape = {static_cast<int64_t>(values.size())};
  Tensor tensor = Tensor::FromValues(shape, values);
  Tensor copy = CopyTensor(tensor.view()).value();
  RC_ASSERT(copy == tensor);
  auto index = *rc::gen::inRange<size_t>(0, values.size());
  auto bit = *rc::gen::inRange(0, 8);
  uint8_t& byte = copy.MutableValues<uint8_t>()[index];
  byte = static_cast<uint8_t>(byte ^ (1 << bit));
  RC_ASSERT(!(copy == tensor));
}

}  // namespace
}  // namespace capstan
