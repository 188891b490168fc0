#include "tensor/shape.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "tensor/dtype.h"

namespace capstan {
namespace {

using Dims = std::vector<int64_t>;

absl::StatusCode CodeOfShape(const Dims& dims) {
  return MakeShape(dims).status().code();
}

TEST(ShapeTest, AScalarHasRankZeroAndOneElement) {
  Shape scalar;
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.num_elements(), 1);
  EXPECT_EQ(scalar.num_rows(), 1);
  EXPECT_EQ(scalar.row_elements(), 1);
  EXPECT_EQ(scalar.ToString(), "[]");
  EXPECT_EQ(ByteSize(DType::kF64, scalar), 8u);
  EXPECT_EQ(MakeShape({}).value(), scalar);
}

TEST(ShapeTest, CountsElementsRowsAndBytes) {
  Shape shape = {3, 4, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[0], 3);
  EXPECT_EQ(shape[2], 5);
  EXPECT_EQ(shape.num_elements(), 60);
  EXPECT_EQ(shape.num_rows(), 3);
  EXPECT_EQ(shape.row_elements(), 20);
  EXPECT_EQ(ByteSize(DType::kF16, shape), 120u);
  EXPECT_EQ(shape.ToString(), "[3, 4, 5]");
  EXPECT_EQ(Dims(shape.dims().begin(), shape.dims().end()), (Dims{3, 4, 5}));
}

TEST(ShapeTest, AnAxisOfZeroMakesItEmpty) {
  Shape shape = {5, 0, 7};
  EXPECT_EQ(shape.num_elements(), 0);
  EXPECT_EQ(shape.row_elements(), 0);
  EXPECT_EQ(ByteSize(DType::kF64, shape), 0u);
  EXPECT_EQ((Shape{0, 7}).row_elements(), 7);
}

TEST(ShapeTest, ComparesRankAndDims) {
  EXPECT_EQ((Shape{3, 4}), (Shape{3, 4}));
  EXPECT_NE((Shape{3, 4}), (Shape{4, 3}));
  EXPECT_NE((Shape{3}), (Shape{3, 1}));
  EXPECT_NE((Shape{0}), (Shape{0, 0}));
  EXPECT_NE(Shape(), (Shape{1}));
}

TEST(ShapeTest, ProductsThatWrapAreRefused) {
  // 4194305^3 is 12582915 modulo 2^64: small, but wrong.
  EXPECT_EQ(CodeOfShape({4194305, 4194305, 4194305}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(MakeShape(Dims{int64_t{1} << 32, int64_t{1} << 32}).ok());
  EXPECT_FALSE(MakeShape(Dims{INT64_MAX, INT64_MAX}).ok());
  EXPECT_FALSE(MakeShape(Dims{INT64_MAX}).ok());
  EXPECT_FALSE(MakeShape(Dims(8, INT64_MAX)).ok());
  // The elements fit, but their bytes do not.
  EXPECT_FALSE(MakeShape(Dims{Shape::kMaxElements + 1}).ok());
  EXPECT_TRUE(MakeShape(Dims{Shape::kMaxElements}).ok());
}

TEST(ShapeTest, AnAxisOfZeroHidesNoWrap) {
  int64_t large = int64_t{1} << 40;
  EXPECT_FALSE(MakeShape(Dims{0, large, large}).ok());
  EXPECT_FALSE(MakeShape(Dims{large, large, 0}).ok());
  EXPECT_TRUE(MakeShape(Dims{0, large, 0}).ok());
}

TEST(ShapeTest, NegativeDimsAreRefused) {
  EXPECT_EQ(MakeShape(Dims{3, -1}).status().message(),
            "negative dimension in shape [3, -1]");
  EXPECT_FALSE(MakeShape(Dims{INT64_MIN}).ok());
  EXPECT_FALSE(MakeShape(Dims{-1, -1}).ok());
  EXPECT_FALSE(MakeShape(Dims{0, -1}).ok());
}

TEST(ShapeTest, TheRankIsBounded) {
  EXPECT_EQ(MakeShape(Dims(8, 2)).value().num_elements(), 256);
  EXPECT_EQ(MakeShape(Dims(9, 1)).status().message(),
            "a shape has at most 8 dimensions, not 9");
  // Refused because of the count alone: the message does not list a million
  // dims.
  EXPECT_LT(MakeShape(Dims(1'000'000, 1)).status().message().size(), 100u);
}

TEST(ShapeTest, ThePublicConstructorsThrow) {
  EXPECT_THROW((Shape{-1}), Error);
  EXPECT_THROW(Shape(Dims(9, 1)), Error);
  try {
    Shape({4194305, 4194305, 4194305});
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message(),
              "too many elements in shape [4194305, 4194305, 4194305]");
  }
}

// Dims of all magnitudes, often zero and occasionally negative.
rc::Gen<int64_t> AnyDim() {
  auto of_any_size = rc::gen::map(
      rc::gen::pair(rc::gen::arbitrary<uint64_t>(), rc::gen::inRange(1, 64)),
      [](std::pair<uint64_t, int> pair) {
        return static_cast<int64_t>(pair.first >> pair.second);
      });
  return rc::gen::weightedOneOf<int64_t>(
      {{4, of_any_size},
       {6, rc::gen::inRange<int64_t>(0, 5000)},
       {1, rc::gen::element<int64_t>(0, 1, Shape::kMaxElements, INT64_MAX)},
       {1, rc::gen::element<int64_t>(-1, INT64_MIN)}});
}

// The product of `dims`, counting zeros as ones if `skip_zeros`; stops above
// kMaxElements, before even 128 bits overflow.
__int128 Product(const Dims& dims, bool skip_zeros) {
  __int128 product = 1;
  for (int64_t dim : dims) {
    if (dim == 0 && skip_zeros) continue;
    product *= dim;
    if (product > Shape::kMaxElements) break;
  }
  return product;
}

RC_GTEST_PROP(ShapeProperty, MatchesArithmeticIn128Bits, ()) {
  int rank = *rc::gen::inRange(0, Shape::kMaxRank + 2);
  auto dims = *rc::gen::container<Dims>(static_cast<size_t>(rank), AnyDim());
  bool negative = std::any_of(dims.begin(), dims.end(),
                              [](int64_t dim) { return dim < 0; });
  bool sound = rank <= Shape::kMaxRank && !negative &&
               Product(dims, /*skip_zeros=*/true) <= Shape::kMaxElements;
  absl::StatusOr<Shape> shape = MakeShape(dims);
  RC_CLASSIFY(sound, "sound");
  RC_ASSERT(shape.ok() == sound);
  if (!sound) return;
  RC_ASSERT(shape->num_elements() == Product(dims, /*skip_zeros=*/false));
  RC_ASSERT(__int128{shape->num_rows()} * shape->row_elements() ==
            shape->num_elements());
  for (DType dtype : kAllDTypes) {
    RC_ASSERT(__int128{ByteSize(dtype, *shape)} ==
              Product(dims, false) * static_cast<int64_t>(SizeOf(dtype)));
  }
  RC_ASSERT(MakeShape(shape->dims()).value() == *shape);
}

}  // namespace
}  // namespace capstan
