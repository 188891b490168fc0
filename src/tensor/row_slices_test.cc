#include "tensor/row_slices.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace capstan {
namespace {

// Row slices of one byte each, for tests of the ids.
class Ids {
 public:
  explicit Ids(std::vector<int64_t> ids)
      : ids_(std::move(ids)),
        rows_(Tensor::Zeros(DType::kU8,
                            {static_cast<int64_t>(ids_.size()), 1})) {}

  RowSlicesView view() const {
    return RowSlicesView::Make(ids_, rows_.view()).value();
  }

 private:
  std::vector<int64_t> ids_;
  Tensor rows_;
};

TEST(RowSlicesTest, PairsIdsWithRows) {
  Tensor ids = Tensor::FromValues({2}, {int64_t{5}, int64_t{3}});
  Tensor rows = Tensor::FromValues({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  RowSlices slices = RowSlices::Make(ids, rows).value();
  RowSlicesView view = slices.view();
  EXPECT_EQ(view.size(), 2u);
  EXPECT_EQ(view.ids()[1], 3);
  EXPECT_EQ(view.rows().SliceRows(1, 2).Values<float>()[0], 3.0f);
  // The tensors themselves, not copies.
  EXPECT_EQ(view.ids().data(), ids.Values<int64_t>().data());
  EXPECT_EQ(view.rows().bytes().data(), rows.view().bytes().data());
}

TEST(RowSlicesTest, CopiesOutliveTheOriginal) {
  RowSlices copy;
  EXPECT_EQ(copy.view().size(), 0u);
  {
    std::vector<int64_t> ids = {9, 1};
    std::vector<double> rows = {0.5, 1.5};
    TensorView rows_view(DType::kF64, {2, 1}, rows.data());
    RowSlicesView view = RowSlicesView::Make(ids, rows_view).value();
    copy = RowSlices::CopyOf(view).value();
  }
  EXPECT_EQ(copy.ids(), Tensor::FromValues({2}, {int64_t{9}, int64_t{1}}));
  EXPECT_EQ(copy.rows(), Tensor::FromValues({2, 1}, {0.5, 1.5}));
}

TEST(RowSlicesTest, RowsMayHaveAnyShape) {
  std::vector<int64_t> ids = {4};
  Tensor vector = Tensor::Zeros(DType::kF32, {1});
  EXPECT_TRUE(RowSlicesView::Make(ids, vector.view()).ok());
  Tensor cube = Tensor::Zeros(DType::kF32, {1, 2, 3});
  EXPECT_TRUE(RowSlicesView::Make(ids, cube.view()).ok());
}

TEST(RowSlicesTest, RefusesRowsThatDoNotMatchTheIds) {
  std::vector<int64_t> ids = {4};
  for (const Shape& shape : {Shape{}, Shape{0, 2}, Shape{2, 1}}) {
    Tensor rows = Tensor::Zeros(DType::kF32, shape);
    EXPECT_EQ(RowSlicesView::Make(ids, rows.view()).status().code(),
              absl::StatusCode::kInvalidArgument)
        << shape.ToString();
  }
  Tensor rows = Tensor::Zeros(DType::kF32, {2, 1});
  EXPECT_EQ(RowSlicesView::Make(ids, rows.view()).status().message(),
            "1 row ids for rows of f32[2, 1]");
}

TEST(RowSlicesTest, RefusesIdsOfAnotherTypeOrRank) {
  Tensor rows = Tensor::Zeros(DType::kF32, {4, 2});
  auto make = [&](DType dtype, const Shape& shape) {
    return RowSlices::Make(Tensor::Zeros(dtype, shape), rows).status().code();
  };
  EXPECT_EQ(make(DType::kI64, {4}), absl::StatusCode::kOk);
  EXPECT_EQ(make(DType::kI32, {4}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(make(DType::kI64, {4, 1}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(make(DType::kI64, {}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(make(DType::kI64, {3}), absl::StatusCode::kInvalidArgument);
}

TEST(RowSlicesTest, ValidateNamesTheFirstIdOutOfRange) {
  EXPECT_TRUE(Ids({0, 9, 5}).view().Validate(10).ok());
  EXPECT_EQ(Ids({0, 9, 10, -1}).view().Validate(10),
            absl::OutOfRangeError("row id 10 at position 2 is not in [0, 10)"));
  EXPECT_FALSE(Ids({-1}).view().Validate(10).ok());
  EXPECT_FALSE(Ids({INT64_MAX}).view().Validate(10).ok());
  EXPECT_FALSE(Ids({INT64_MIN}).view().Validate(10).ok());
  EXPECT_FALSE(Ids({0}).view().Validate(0).ok());
  EXPECT_TRUE(Ids({}).view().Validate(0).ok());
}

TEST(RowSlicesTest, FindsDuplicatesWhereverTheyAre) {
  EXPECT_FALSE(Ids({}).view().HasDuplicates());
  EXPECT_FALSE(Ids({7}).view().HasDuplicates());
  EXPECT_FALSE(Ids({1, 2, 3}).view().HasDuplicates());
  EXPECT_FALSE(Ids({3, 1, 2}).view().HasDuplicates());
  EXPECT_TRUE(Ids({3, 3}).view().HasDuplicates());
  EXPECT_TRUE(Ids({1, 2, 3, 1}).view().HasDuplicates());
}

RC_GTEST_PROP(RowSlicesProperty, DuplicatesAreThoseOfASet, ()) {
  auto values = *rc::gen::container<std::vector<int64_t>>(
      rc::gen::inRange<int64_t>(-500, 500));
  if (*rc::gen::arbitrary<bool>()) std::sort(values.begin(), values.end());
  std::set<int64_t> set(values.begin(), values.end());
  RC_ASSERT(Ids(values).view().HasDuplicates() ==
            (set.size() != values.size()));
}

RC_GTEST_PROP(RowSlicesProperty, ValidateAcceptsExactlyTheRows, ()) {
  auto num_rows = *rc::gen::inRange<int64_t>(0, 20);
  auto values = *rc::gen::container<std::vector<int64_t>>(
      rc::gen::inRange<int64_t>(-2, 22));
  bool good = std::all_of(values.begin(), values.end(),
                          [&](int64_t id) { return 0 <= id && id < num_rows; });
  RC_ASSERT(Ids(values).view().Validate(num_rows).ok() == good);
}

}  // namespace
}  // namespace capstan
