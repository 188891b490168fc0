#include "tensor/view.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"

namespace capstan {
namespace {

TEST(ViewTest, ShowsTheMemoryAsValuesAndBytes) {
  std::array<float, 6> memory = {1, 2, 3, 4, 5, 6};
  TensorView view(DType::kF32, {2, 3}, memory.data());
  EXPECT_EQ(view.dtype(), DType::kF32);
  EXPECT_EQ(view.shape(), (Shape{2, 3}));
  EXPECT_EQ(view.bytes().size(), 24u);
  EXPECT_EQ(view.Values<float>().data(), memory.data());
  EXPECT_EQ(view.Values<float>().size(), 6u);
  EXPECT_EQ(ValuesOf<float>(view)->back(), 6.0f);
  EXPECT_EQ(Describe(view), "f32[2, 3]");
}

TEST(ViewTest, WritesThroughTheMutableForm) {
  std::array<int32_t, 3> memory = {1, 2, 3};
  MutableTensorView view(DType::kI32, {3}, memory.data());
  view.MutableValues<int32_t>()[1] = 20;
  MutableValuesOf<int32_t>(view)->back() = 30;
  std::memset(view.mutable_bytes().data(), 0, 4);
  EXPECT_EQ(memory, (std::array<int32_t, 3>{0, 20, 30}));
  const TensorView& readable = view;
  EXPECT_EQ(readable.Values<int32_t>()[1], 20);
}

TEST(ViewTest, RefusesAnotherElementType) {
  std::array<float, 2> memory = {};
  MutableTensorView view(DType::kF32, {2}, memory.data());
  EXPECT_EQ(ValuesOf<int32_t>(view).status(),
            absl::InvalidArgumentError("elements of f32[2] used as i32"));
  EXPECT_FALSE(MutableValuesOf<double>(view).ok());
  EXPECT_THROW(view.Values<Float16>(), Error);
  EXPECT_THROW(view.MutableValues<bool>(), Error);
}

TEST(ViewTest, RefusesUnalignedValuesButNotTheirBytes) {
  alignas(8) std::array<std::byte, 24> memory = {};
  TensorView view(DType::kF64, {2}, memory.data() + 4);
  EXPECT_EQ(view.bytes().size(), 16u);
  EXPECT_EQ(ValuesOf<double>(view).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THROW(view.Values<double>(), Error);
  EXPECT_TRUE(
      ValuesOf<float>(TensorView(DType::kF32, {2}, memory.data() + 4)).ok());
  EXPECT_TRUE(
      ValuesOf<uint8_t>(TensorView(DType::kU8, {2}, memory.data() + 3)).ok());
}

TEST(ViewTest, RefusesBytesThatAreNoBools) {
  std::array<uint8_t, 4> memory = {0, 1, 2, 255};
  MutableTensorView view(DType::kBool, {4}, memory.data());
  EXPECT_EQ(ValuesOf<bool>(view).status().message(),
            "element 2 of a bool tensor is 2, not 0 or 1");
  EXPECT_FALSE(MutableValuesOf<bool>(view).ok());
  EXPECT_THROW(view.Values<bool>(), Error);
  EXPECT_TRUE(view.SliceRows(0, 2).Values<bool>()[1]);
}

TEST(ViewTest, AnEmptyViewNeedsNoMemory) {
  TensorView view(DType::kF32, {0, 5}, nullptr);
  EXPECT_TRUE(view.bytes().empty());
  EXPECT_TRUE(view.Values<float>().empty());
  EXPECT_TRUE(view.SliceRows(0, 0).bytes().empty());
  MutableTensorView to(DType::kF32, {0, 5}, nullptr);
  EXPECT_TRUE(Copy(view, to).ok());
  EXPECT_TRUE(BitwiseEqual(view, to));
}

TEST(ViewTest, SlicesRows) {
  std::array<int64_t, 6> memory = {0, 1, 2, 3, 4, 5};
  MutableTensorView view(DType::kI64, {3, 2}, memory.data());
  TensorView middle = SliceRows(TensorView(view), 1, 2).value();
  EXPECT_EQ(middle.shape(), (Shape{1, 2}));
  EXPECT_EQ(middle.Values<int64_t>().data(), memory.data() + 2);
  view.SliceRows(2, 3).MutableValues<int64_t>()[0] = 40;
  EXPECT_EQ(memory[4], 40);
  EXPECT_EQ(view.SliceRows(3, 3).shape(), (Shape{0, 2}));
  EXPECT_EQ(view.SliceRows(1, 3).SliceRows(1, 2).bytes().data(),
            view.SliceRows(2, 3).bytes().data());
}

TEST(ViewTest, RefusesRowsThatAreNotThere) {
  std::array<float, 6> memory = {};
  MutableTensorView view(DType::kF32, {3, 2}, memory.data());
  const std::pair<int64_t, int64_t> ranges[] = {
      {-1, 2}, {2, 1}, {0, 4}, {4, 4}, {INT64_MIN, INT64_MAX}, {-1, -1}};
  for (auto [begin, end] : ranges) {
    EXPECT_EQ(SliceRows(view, begin, end).status().code(),
              absl::StatusCode::kOutOfRange);
    EXPECT_THROW(view.SliceRows(begin, end), Error);
  }
  EXPECT_EQ(SliceRows(view, 1, 4).status().message(),
            "rows 1 to 4 of a tensor of shape [3, 2]");
  TensorView scalar(DType::kF32, {}, memory.data());
  EXPECT_EQ(SliceRows(scalar, 0, 1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ViewTest, CopiesOnlyBetweenEquals) {
  std::array<float, 4> from = {1, 2, 3, 4};
  std::array<float, 4> to = {};
  TensorView source(DType::kF32, {2, 2}, from.data());
  EXPECT_EQ(Copy(source, MutableTensorView(DType::kF32, {4}, to.data())),
            absl::InvalidArgumentError("cannot copy f32[2, 2] to f32[4]"));
  EXPECT_FALSE(
      Copy(source, MutableTensorView(DType::kI32, {2, 2}, to.data())).ok());
  EXPECT_EQ(to, (std::array<float, 4>{}));
  EXPECT_TRUE(
      Copy(source, MutableTensorView(DType::kF32, {2, 2}, to.data())).ok());
  EXPECT_EQ(to, from);
}

TEST(ViewTest, CopiesBetweenRowsOfOneTensor) {
  std::array<uint8_t, 4> memory = {1, 2, 3, 4};
  MutableTensorView view(DType::kU8, {4}, memory.data());
  EXPECT_TRUE(Copy(view.SliceRows(0, 3), view.SliceRows(1, 4)).ok());
  EXPECT_EQ(memory, (std::array<uint8_t, 4>{1, 1, 2, 3}));
}

TEST(ViewTest, ComparesBitByBit) {
  float zero = 0.0f;
  float minus_zero = -0.0f;
  TensorView a(DType::kF32, {}, &zero);
  TensorView b(DType::kF32, {}, &minus_zero);
  EXPECT_TRUE(BitwiseEqual(a, a));
  EXPECT_FALSE(BitwiseEqual(a, b));
  EXPECT_FALSE(BitwiseEqual(a, TensorView(DType::kI32, {}, &zero)));
  EXPECT_FALSE(BitwiseEqual(a, TensorView(DType::kF32, {1}, &zero)));
}

// Splitting a tensor into row ranges in any way covers all of its bytes, in
// order, each once.
RC_GTEST_PROP(ViewProperty, SlicesCoverTheTensor, ()) {
  auto rank = *rc::gen::inRange<size_t>(1, 6);
  auto dims = *rc::gen::container<std::vector<int64_t>>(
      rank, rc::gen::inRange<int64_t>(0, 7));
  auto dtype =
      *rc::gen::element(DType::kF64, DType::kI32, DType::kBF16, DType::kU8);
  Tensor tensor = AllocateTensor(dtype, Shape(dims), Fill::kZero).value();
  auto bytes = tensor.mutable_view().mutable_bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 31);
  }
  auto cuts = *rc::gen::container<std::vector<int64_t>>(
      rc::gen::inRange<int64_t>(0, dims[0] + 1));
  cuts.push_back(dims[0]);
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::byte> joined;
  int64_t begin = 0;
  for (int64_t end : cuts) {
    TensorView slice = SliceRows(tensor.view(), begin, end).value();
    RC_ASSERT(slice.shape().num_rows() == end - begin);
    RC_ASSERT(slice.shape().row_elements() == tensor.shape().row_elements());
    joined.insert(joined.end(), slice.bytes().begin(), slice.bytes().end());
    begin = end;
  }
  RC_ASSERT(joined == std::vector<std::byte>(bytes.begin(), bytes.end()));
}

}  // namespace
}  // namespace capstan
