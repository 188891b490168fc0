#include "client/slice.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// The places that a plan takes of an axis.
std::vector<int64_t> Places(const SlicePlan::Axis& axis) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < axis.count; ++i) {
    places.push_back(axis.start + i * axis.step);
  }
  return places;
}

std::vector<int64_t> PlacesOf(const Range& range, int64_t size) {
  const std::vector<Selector> selectors = {range};
  const absl::StatusOr<SlicePlan> plan = PlanSlice({size}, selectors);
  EXPECT_OK(plan);
  return plan.ok() ? Places(plan->axes[0]) : std::vector<int64_t>();
}

using Values = std::vector<int64_t>;

TEST(SliceTest, RangesAreThoseOfPython) {
  EXPECT_EQ(PlacesOf({}, 4), (Values{0, 1, 2, 3}));
  EXPECT_EQ(PlacesOf({.start = 1, .stop = 3}, 4), (Values{1, 2}));
  EXPECT_EQ(PlacesOf({.start = -2}, 4), (Values{2, 3}));
  EXPECT_EQ(PlacesOf({.stop = -1}, 4), (Values{0, 1, 2}));
  EXPECT_EQ(PlacesOf({.start = -100, .stop = 100}, 4), (Values{0, 1, 2, 3}));
  EXPECT_EQ(PlacesOf({.start = 3, .stop = 1}, 4), Values());
  EXPECT_EQ(PlacesOf({.start = 4}, 4), Values());
  EXPECT_EQ(PlacesOf({.step = 3}, 7), (Values{0, 3, 6}));
  EXPECT_EQ(PlacesOf({.step = -1}, 4), (Values{3, 2, 1, 0}));
  EXPECT_EQ(PlacesOf({.start = 2, .step = -1}, 4), (Values{2, 1, 0}));
  EXPECT_EQ(PlacesOf({.stop = 1, .step = -2}, 6), (Values{5, 3}));
  EXPECT_EQ(PlacesOf({.start = 100, .stop = -100, .step = -3}, 7),
            (Values{6, 3, 0}));
  EXPECT_EQ(PlacesOf({.step = -1}, 0), Values());
}

TEST(SliceTest, TheLargestNumbers) {
  EXPECT_EQ(PlacesOf({.start = INT64_MIN, .stop = INT64_MAX}, 3),
            (Values{0, 1, 2}));
  EXPECT_EQ(PlacesOf({.step = INT64_MAX}, 3), (Values{0}));
  EXPECT_EQ(PlacesOf({.step = INT64_MIN}, 3), (Values{2}));
  EXPECT_EQ(PlacesOf({.start = INT64_MAX, .stop = INT64_MIN, .step = -1}, 3),
            (Values{2, 1, 0}));
}

// As the documentation of Python has it, step by step.
Values Python(const Range& range, int64_t size) {
  const int64_t lower = range.step > 0 ? 0 : -1;
  const int64_t upper = range.step > 0 ? size : size - 1;
  const auto end = [&](std::optional<int64_t> at, int64_t otherwise) {
    if (!at) return otherwise;
    const int64_t from_start = *at < 0 ? *at + size : *at;
    if (from_start < lower) return lower;
    return from_start > upper ? upper : from_start;
  };
  const int64_t stop = end(range.stop, range.step > 0 ? upper : lower);
  Values places;
  for (int64_t i = end(range.start, range.step > 0 ? lower : upper);
       range.step > 0 ? i < stop : i > stop; i += range.step) {
    places.push_back(i);
  }
  return places;
}

RC_GTEST_PROP(SliceTest, AnyRange, ()) {
  const auto size = *rc::gen::inRange<int64_t>(0, 12);
  Range range;
  if (*rc::gen::arbitrary<bool>()) {
    range.start = *rc::gen::inRange<int64_t>(-15, 15);
  }
  if (*rc::gen::arbitrary<bool>()) {
    range.stop = *rc::gen::inRange<int64_t>(-15, 15);
  }
  range.step = *rc::gen::inRange<int64_t>(-5, 6);
  if (range.step == 0) range.step = 7;
  RC_ASSERT(PlacesOf(range, size) == Python(range, size));
}

absl::StatusOr<Shape> ShapeOf(const Shape& shape,
                              const std::vector<Selector>& selectors) {
  const absl::StatusOr<SlicePlan> plan = PlanSlice(shape, selectors);
  if (!plan.ok()) return plan.status();
  EXPECT_EQ(static_cast<int>(plan->axes.size()), shape.rank());
  return plan->shape;
}

TEST(SliceTest, ShapesOfResults) {
  const Shape shape = {4, 5, 6};
  const auto is = [](const Shape& expected) {
    return testing::IsOkAndHolds(expected);
  };
  EXPECT_THAT(ShapeOf(shape, {}), is({4, 5, 6}));
  EXPECT_THAT(ShapeOf(shape, {Index{1}}), is({5, 6}));
  EXPECT_THAT(ShapeOf(shape, {Index{-4}, Index{4}, Index{-1}}), is({}));
  EXPECT_THAT(ShapeOf(shape, {Ellipsis{}}), is({4, 5, 6}));
  EXPECT_THAT(ShapeOf(shape, {Ellipsis{}, Index{0}}), is({4, 5}));
  EXPECT_THAT(ShapeOf(shape, {Index{0}, Ellipsis{}, Range{.step = 2}}),
              is({5, 3}));
  EXPECT_THAT(ShapeOf(shape, {Index{0}, Index{0}, Ellipsis{}, Index{0}}),
              is({}));
  EXPECT_THAT(ShapeOf(shape, {NewAxis{}, Range{}, NewAxis{}}),
              is({1, 4, 1, 5, 6}));
  EXPECT_THAT(ShapeOf(shape, {Ellipsis{}, NewAxis{}}), is({4, 5, 6, 1}));
  EXPECT_THAT(ShapeOf(shape, {Mask{{true, false, true, true}}, Index{2}}),
              is({3, 6}));
  EXPECT_THAT(ShapeOf({}, {}), is({}));
  EXPECT_THAT(ShapeOf({}, {NewAxis{}, Ellipsis{}}), is({1}));
}

TEST(SliceTest, IndicesOutOfRange) {
  for (const int64_t at : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(ShapeOf({4, 5}, {Index{at}}),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr("index " + std::to_string(at) +
                                   " is not in axis 0 of the shape [4, 5]")));
  }
  EXPECT_THAT(ShapeOf({4, 5}, {Ellipsis{}, Index{5}}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("axis 1")));
  EXPECT_THAT(ShapeOf({0}, {Index{0}}),
              StatusIs(absl::StatusCode::kOutOfRange));
}

TEST(SliceTest, SelectorsThatMakeNoSense) {
  const auto refused = [](const std::string& why) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why));
  };
  EXPECT_THAT(ShapeOf({4}, {Index{0}, Range{}}),
              refused("selectors for 2 axes, and the shape [4] has 1"));
  EXPECT_THAT(ShapeOf({}, {Range{}}), refused("the shape [] has 0"));
  EXPECT_THAT(ShapeOf({4}, {Ellipsis{}, Ellipsis{}}), refused("two ellipses"));
  EXPECT_THAT(ShapeOf({4, 5}, {Range{}, Range{.step = 0}}),
              refused("a step of 0 in axis 1"));
  EXPECT_THAT(ShapeOf({2, 2}, {Range{}, Mask{{true, true}}}),
              refused("a mask for axis 1"));
  EXPECT_THAT(ShapeOf({2, 2}, {Mask{{true}}}),
              refused("a mask of 1 rows for the shape [2, 2]"));
  EXPECT_THAT(ShapeOf({2}, std::vector<Selector>(8, NewAxis{})),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace capstan
