#include "dataset/range/cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::Each;
using testing::StatusIs;

TEST(CutTest, OptionsThatMakeNoRangesAreRefusedByName) {
  EXPECT_OK(CheckOptions({}));
  EXPECT_OK(CheckOptions({.examples = INT64_MAX, .batch = INT64_MAX}));
  EXPECT_THAT(CheckOptions({.examples = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "DataRanges: examples is -1; it must be at least 0"));
  EXPECT_THAT(CheckOptions({.batch = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "DataRanges: batch is 0; it must be at least 1"));
  EXPECT_THAT(CheckOptions({.batch = INT64_MIN}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CutTest, WhatIsLeftIsARangeOrDropped) {
  EXPECT_EQ(RangesPerEpoch({.examples = 10, .batch = 4}), 3u);
  EXPECT_EQ(
      RangesPerEpoch({.examples = 10, .batch = 4, .drop_remainder = true}), 2u);
  EXPECT_EQ(RangesPerEpoch({.examples = 8, .batch = 4}), 2u);
  EXPECT_EQ(RangesPerEpoch({.examples = 3, .batch = 4}), 1u);
  EXPECT_EQ(RangesPerEpoch({.examples = 3, .batch = 4, .drop_remainder = true}),
            0u);
  EXPECT_EQ(RangesPerEpoch({.examples = 0, .batch = 4}), 0u);
}

TEST(CutTest, WithoutShuffleTheRangesAreInOrder) {
  const DataRangesOptions options{.examples = 10, .batch = 4};
  EXPECT_EQ(RangeAt(options, {5, 0}), (DataRange{0, 4, 5, 0}));
  EXPECT_EQ(RangeAt(options, {5, 1}), (DataRange{4, 8, 5, 1}));
  EXPECT_EQ(RangeAt(options, {5, 2}), (DataRange{8, 10, 5, 2}));
  EXPECT_EQ(RangeAt(options, {5, 2}).size(), 2);
}

TEST(CutTest, HugeNumbersDoNotOverflow) {
  DataRangesOptions options{.examples = INT64_MAX, .batch = INT64_MAX - 1};
  EXPECT_EQ(RangesPerEpoch(options), 2u);
  EXPECT_EQ(RangeAt(options, {0, 1}),
            (DataRange{INT64_MAX - 1, INT64_MAX, 0, 1}));
  options.batch = 1;
  EXPECT_EQ(RangesPerEpoch(options), uint64_t{INT64_MAX});
  EXPECT_EQ(RangeAt(options, {0, INT64_MAX - 1}),
            (DataRange{INT64_MAX - 1, INT64_MAX, 0, INT64_MAX - 1}));
}

// Every example once; or, with drop_remainder, each example of the whole
// ranges.
TEST(CutTest, TheRangesOfAnEpochCoverTheInput) {
  for (const int64_t examples : {0, 1, 2, 7, 64, 100}) {
    for (const int64_t batch : {1, 2, 3, 7, 10, 64, 101}) {
      for (const bool shuffle : {false, true}) {
        for (const bool drop : {false, true}) {
          const DataRangesOptions options{examples, batch, shuffle, 9, drop};
          const int64_t covered = drop ? examples / batch * batch : examples;
          std::vector<int> times(static_cast<size_t>(covered), 0);
          for (uint64_t i = 0; i < RangesPerEpoch(options); ++i) {
            const DataRange range = RangeAt(options, {2, i});
            EXPECT_GT(range.size(), 0);
            EXPECT_LE(range.size(), batch);
            for (int64_t example = range.begin; example < range.end;
                 ++example) {
              ++times.at(static_cast<size_t>(example));
            }
          }
          EXPECT_THAT(times, Each(1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace capstan
