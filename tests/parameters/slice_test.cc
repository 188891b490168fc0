// Slices of sharded variables, against the same slices of an array.
#include "client/slice.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::Counting;
using ::testing::HasSubstr;
using testing::ParameterJob;
using testing::Plain;
using testing::Push;
using testing::StatusIs;

// The places of an axis that a selector takes, one by one.
std::vector<int64_t> PlacesOf(const Selector& selector, int64_t size) {
  std::vector<int64_t> places;
  if (const auto* index = std::get_if<Index>(&selector)) {
    places.push_back(index->at < 0 ? index->at + size : index->at);
  } else if (const auto* mask = std::get_if<Mask>(&selector)) {
    for (size_t i = 0; i < mask->rows.size(); ++i) {
      if (mask->rows[i]) places.push_back(static_cast<int64_t>(i));
    }
  } else {
    const Range& range = std::get<Range>(selector);
    const auto from_start = [&](int64_t at) { return at < 0 ? at + size : at; };
    const bool forward = range.step > 0;
    int64_t at =
        range.start ? from_start(*range.start) : (forward ? 0 : size - 1);
    at = std::clamp<int64_t>(at, forward ? 0 : -1, forward ? size : size - 1);
    const int64_t stop =
        range.stop ? from_start(*range.stop) : (forward ? size : -1);
    while (at >= 0 && at < size && (forward ? at < stop : at > stop)) {
      places.push_back(at);
      at += range.step;
    }
  }
  return places;
}

// What the elements are of an array that counts from 0.
std::vector<float> Oracle(const Shape& shape, std::vector<Selector> selectors) {
  std::erase_if(selectors, [](const Selector& s) {
    return std::holds_alternative<NewAxis>(s);
  });
  std::vector<std::vector<int64_t>> axes;
  const auto rank = static_cast<size_t>(shape.rank());
  for (size_t i = 0; i < selectors.size(); ++i) {
    if (!std::holds_alternative<Ellipsis>(selectors[i])) {
      axes.push_back(
          PlacesOf(selectors[i], shape[static_cast<int>(axes.size())]));
      continue;
    }
    for (size_t left = rank + 1 - selectors.size(); left > 0; --left) {
      axes.push_back(PlacesOf(Range{}, shape[static_cast<int>(axes.size())]));
    }
  }
  while (axes.size() < rank) {
    axes.push_back(PlacesOf(Range{}, shape[static_cast<int>(axes.size())]));
  }
  std::vector<int64_t> offsets = {0};
  for (size_t axis = 0; axis < rank; ++axis) {
    std::vector<int64_t> next;
    for (const int64_t offset : offsets) {
      for (const int64_t place : axes[axis]) {
        next.push_back(offset * shape[static_cast<int>(axis)] + place);
      }
    }
    offsets = next;
  }
  return std::vector<float>(offsets.begin(), offsets.end());
}

class SliceTest : public ::testing::Test {
 protected:
  void Create(const Shape& shape) {
    shape_ = shape;
    ASSERT_OK(job_.Create({Plain("v", shape)}, FixedShards(3)));
    ASSERT_OK(Push(job_, job_.chief(), job_.NextStep(), "v",
                   Counting(static_cast<size_t>(shape.num_elements())),
                   Operation::kSet));
    worker_ = &job_.NewClient();
  }

  absl::StatusOr<Tensor> Read(const std::vector<Selector>& selectors,
                              ReadOptions options = {}) {
    return job_.Run(*worker_,
                    ReadSlice(*worker_, job_.Id("v"), selectors, options));
  }

  void ExpectLikeAnArray(const std::vector<Selector>& selectors) {
    const absl::StatusOr<Tensor> result = Read(selectors);
    ASSERT_OK(result);
    const std::span<const float> values = result->Values<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
              Oracle(shape_, selectors));
    const absl::StatusOr<SlicePlan> plan = PlanSlice(shape_, selectors);
    ASSERT_OK(plan);
    EXPECT_EQ(result->shape(), plan->shape);
  }

  ParameterJob job_{{.servers = 3}};
  ParameterClient* worker_ = nullptr;
  Shape shape_;
};

// The first elements are absent.
constexpr std::optional<int64_t> kEnd = std::nullopt;

TEST_F(SliceTest, Vectors) {
  Create({10});
  const std::vector<Range> ranges = {{},
                                     {kEnd, 2},
                                     {kEnd, 7},
                                     {-8, 2},
                                     {-10, 2},
                                     {5, kEnd},
                                     {5, -1},
                                     {-3, kEnd},
                                     {-3, -1},
                                     {4, 4},
                                     {7, 3},
                                     {100, kEnd},
                                     {kEnd, 100},
                                     {-100, 100},
                                     {kEnd, kEnd, 2},
                                     {kEnd, kEnd, 3},
                                     {kEnd, kEnd, 5},
                                     {kEnd, kEnd, 100},
                                     {1, kEnd, 3},
                                     {1, 5, 2},
                                     {-9, 8, 4},
                                     {kEnd, kEnd, -1},
                                     {kEnd, kEnd, -2},
                                     {kEnd, kEnd, -3},
                                     {kEnd, kEnd, -100},
                                     {2, kEnd, -1},
                                     {2, kEnd, -2},
                                     {2, kEnd, -4},
                                     {kEnd, 3, -1},
                                     {8, 2, -1},
                                     {8, 2, -3},
                                     {2, 8, -1},
                                     {-1, -9, -2},
                                     {100, -100, -1}};
  for (const Range& range : ranges) ExpectLikeAnArray({range});
  for (int64_t i = -10; i < 10; ++i) ExpectLikeAnArray({Index{i}});
}

TEST_F(SliceTest, Tables) {
  Create({7, 4, 3});
  const std::vector<std::vector<Selector>> cases = {
      {},
      {Ellipsis{}},
      {Index{0}},
      {Index{-1}},
      {Index{6}, Index{3}, Index{2}},
      {Range{2, 5}},
      {Range{2, 5}, Range{1, 3}},
      {Range{2, 5}, Index{-1}},
      {Range{}, Range{}, Range{kEnd, kEnd, -1}},
      {Range{kEnd, kEnd, -1}, Range{kEnd, kEnd, -2}, Range{kEnd, kEnd, 2}},
      {Range{kEnd, kEnd, 3}, Range{3, 0, -1}},
      {Range{5, 1, -2}, Ellipsis{}, Index{1}},
      {Ellipsis{}, Index{2}},
      {Ellipsis{}, Range{1, 2}, Index{0}},
      {Index{3}, Ellipsis{}},
      {Index{1}, Range{}, Range{0, 2}},
      {NewAxis{}},
      {NewAxis{}, Index{2}, NewAxis{}, Range{1, 3}},
      {Range{}, NewAxis{}, Ellipsis{}, NewAxis{}},
      {Range{6, 6}},
      {Range{}, Range{2, 2}},
      {Range{5, 2}, Index{0}},
      {Mask{{true, false, true, true, false, false, true}}},
      {Mask{{true, false, true, true, false, false, true}}, Range{1, 3}},
      {Mask{{false, false, false, false, false, false, false}}},
      {Mask{{true, true, true, true, true, true, true}}, Ellipsis{}, Index{0}},
      {NewAxis{}, Mask{{false, true, false, false, false, true, false}}}};
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectLikeAnArray(cases[i]);
  }
}

TEST_F(SliceTest, Scalars) {
  Create({});
  ExpectLikeAnArray({});
  ExpectLikeAnArray({Ellipsis{}});
  ExpectLikeAnArray({NewAxis{}, NewAxis{}});
  EXPECT_THAT(Read({Index{0}}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(SliceTest, ErrorsNameTheVariable) {
  Create({7, 4});
  EXPECT_THAT(Read({Index{7}}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr("variable 'v'"), HasSubstr("index 7"))));
  EXPECT_THAT(Read({Range{kEnd, kEnd, 0}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("variable 'v'"), HasSubstr("step"))));
  ASSERT_OK(job_.Drop({"v"}));
  EXPECT_THAT(job_.Run(*worker_, ReadSlice(*worker_, 1, {})),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(SliceTest, OnlyTheServersThatHaveTheRowsAreAsked) {
  Create({9, 2});
  ASSERT_OK(job_.Run(*worker_, worker_->Refresh()));
  const uint32_t server = job_.map().Find("v")->shards[1].server;
  const std::vector<std::vector<Selector>> cases = {
      {Index{4}},
      {Range{3, 6}},
      {Range{5, 2, -2}},
      {Mask{{false, false, false, true, false, true, false, false, false}}}};
  for (const std::vector<Selector>& selectors : cases) {
    std::vector<uint64_t> before;
    for (uint32_t s = 0; s < 3; ++s) before.push_back(job_.Requests(s));
    ExpectLikeAnArray(selectors);
    for (uint32_t s = 0; s < 3; ++s) {
      EXPECT_EQ(job_.Requests(s), before[s] + (s == server ? 1 : 0));
    }
  }
  // And nobody for nothing.
  const uint64_t before = job_.Requests(0) + job_.Requests(1);
  ExpectLikeAnArray({Range{4, 4}});
  EXPECT_EQ(job_.Requests(0) + job_.Requests(1), before);
}

TEST_F(SliceTest, WaitsForTheRound) {
  VariableSpec spec = testing::Spec("v", {4});
  spec.update = Sync{.replicas = 1};
  ASSERT_OK(job_.Create({spec}, FixedShards(2)));
  worker_ = &job_.NewClient();
  ReadOptions options;
  options.round = 2;
  options.timeout = std::chrono::milliseconds(200);
  EXPECT_THAT(Read({Range{1, 3}}, options),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("commit round 1")));
}

TEST_F(SliceTest, OtherTypes) {
  ASSERT_OK(job_.Create({Plain("v", {4, 2}, DType::kU8)}, FixedShards(3)));
  ASSERT_OK(Push(job_, job_.chief(), job_.NextStep(), "v",
                 std::vector<uint8_t>{0, 1, 2, 3, 4, 5, 6, 7},
                 Operation::kSet));
  worker_ = &job_.NewClient();
  const absl::StatusOr<Tensor> result = Read({Range{kEnd, kEnd, -1}, Index{1}});
  ASSERT_OK(result);
  EXPECT_EQ(*result, Tensor::FromValues({4}, std::vector<uint8_t>{7, 5, 3, 1}));
}

}  // namespace
}  // namespace capstan
