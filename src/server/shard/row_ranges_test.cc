#include "server/shard/row_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.h"

namespace capstan {
namespace {

using Range = std::pair<uint64_t, uint64_t>;

TEST(RowRangesTest, WhatIsMissing) {
  RowRanges rows;
  EXPECT_EQ(rows.FirstMissing(0), std::nullopt);
  EXPECT_EQ(rows.FirstMissing(5), Range(0, 5));
  rows.Add(2, 4);
  EXPECT_EQ(rows.FirstMissing(5), Range(0, 2));
  rows.Add(0, 2);
  EXPECT_EQ(rows.FirstMissing(5), Range(4, 5));
  EXPECT_EQ(rows.FirstMissing(4), std::nullopt);
  rows.Add(3, 3);
  rows.Add(4, 5);
  EXPECT_EQ(rows.FirstMissing(5), std::nullopt);
  rows.Remove(1, 3);
  EXPECT_EQ(rows.FirstMissing(5), Range(1, 3));
}

TEST(RowRangesTest, TheEndsOfTheNumbers) {
  RowRanges rows;
  rows.Add(1, UINT64_MAX);
  EXPECT_EQ(rows.FirstMissing(UINT64_MAX), Range(0, 1));
  rows.Add(0, 1);
  EXPECT_EQ(rows.FirstMissing(UINT64_MAX), std::nullopt);
  rows.Remove(0, UINT64_MAX);
  EXPECT_EQ(rows.FirstMissing(UINT64_MAX), Range(0, UINT64_MAX));
}

// Compares with a set of bits.
TEST(RowRangesTest, LikeASetOfRows) {
  constexpr uint64_t kRows = 24;
  Random random(1);
  for (int run = 0; run < 200; ++run) {
    RowRanges ranges;
    std::array<bool, kRows> bits{};
    for (int i = 0; i < 50; ++i) {
      const uint64_t a = random.Below(kRows + 1);
      const uint64_t b = random.Below(kRows + 1);
      const auto [begin, end] = std::minmax(a, b);
      const bool add = random.Below(3) != 0;
      if (add) {
        ranges.Add(begin, end);
      } else {
        ranges.Remove(begin, end);
      }
      std::fill(bits.begin() + begin, bits.begin() + end, add);
      const auto first = std::find(bits.begin(), bits.end(), false);
      const auto last = std::find(first, bits.end(), true);
      if (first == bits.end()) {
        ASSERT_EQ(ranges.FirstMissing(kRows), std::nullopt);
      } else {
        ASSERT_EQ(ranges.FirstMissing(kRows),
                  Range(first - bits.begin(), last - bits.begin()));
      }
    }
  }
}

}  // namespace
}  // namespace capstan
