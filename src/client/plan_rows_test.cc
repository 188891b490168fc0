#include "client/plan_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// A variable "t" of `rows` rows, cut at `cuts`.
VariableEntry Entry(int64_t rows, std::vector<int64_t> cuts = {}) {
  VariableEntry entry;
  entry.spec.name = "t";
  entry.spec.shape = {rows, 2};
  cuts.push_back(rows);
  int64_t begin = 0;
  for (const int64_t end : cuts) {
    entry.shards.push_back({.begin = begin, .end = end});
    begin = end;
  }
  return entry;
}

TEST(PlanRowsTest, NothingAsksNobody) {
  const absl::StatusOr<RowPlan> plan = PlanRows(Entry(9, {4}), {}, true);
  ASSERT_OK(plan);
  EXPECT_TRUE(plan->shards.empty());
  EXPECT_TRUE(plan->place.empty());
  EXPECT_EQ(plan->num_rows, 0u);
  EXPECT_TRUE(plan->in_order);
}

TEST(PlanRowsTest, SplitsAlongTheShards) {
  const std::vector<int64_t> ids = {8, 0, 4, 3, 8};
  const absl::StatusOr<RowPlan> plan = PlanRows(Entry(9, {4, 6}), ids, true);
  ASSERT_OK(plan);
  ASSERT_EQ(plan->shards.size(), 3u);
  EXPECT_EQ(plan->shards[0].rows, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(plan->shards[1].rows, (std::vector<uint32_t>{0}));
  EXPECT_EQ(plan->shards[2].rows, (std::vector<uint32_t>{2}));
  EXPECT_EQ(plan->place, (std::vector<uint32_t>{3, 0, 2, 1, 3}));
  EXPECT_FALSE(plan->in_order);
}

TEST(PlanRowsTest, KnowsWhenNothingMoves) {
  const std::vector<int64_t> ascending = {0, 3, 4, 8};
  EXPECT_TRUE(PlanRows(Entry(9, {4}), ascending, true)->in_order);
  const std::vector<int64_t> any = {8, 0, 3};
  EXPECT_TRUE(PlanRows(Entry(9), any, true)->in_order);
  const std::vector<int64_t> twice = {0, 0};
  EXPECT_FALSE(PlanRows(Entry(9), twice, true)->in_order);
  EXPECT_TRUE(PlanRows(Entry(9), twice, false)->in_order);
}

TEST(PlanRowsTest, IdsOutOfRangeAreNamed) {
  for (const int64_t bad : {int64_t{-1}, int64_t{9}, INT64_MIN, INT64_MAX}) {
    const std::vector<int64_t> ids = {1, 2, bad, 3};
    EXPECT_THAT(PlanRows(Entry(9, {4}), ids, true),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr("variable 't': id " + std::to_string(bad) +
                                   " at position 2 is not in [0, 9)")));
  }
  const std::vector<int64_t> any = {0};
  EXPECT_THAT(PlanRows(Entry(0), any, true),
              StatusIs(absl::StatusCode::kOutOfRange));
}

// Ids that collide in a small table.
TEST(PlanRowsTest, ManyIdsWithEqualLowBits) {
  constexpr int64_t kStep = int64_t{1} << 20;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 1000; ++i) ids.push_back((i % 500) * kStep);
  const absl::StatusOr<RowPlan> plan = PlanRows(Entry(500 * kStep), ids, true);
  ASSERT_OK(plan);
  EXPECT_EQ(plan->num_rows, 500u);
}

RC_GTEST_PROP(PlanRowsTest, FindsEveryIdAtItsPlace, ()) {
  const auto rows = *rc::gen::inRange<int64_t>(1, 200);
  std::set<int64_t> cut_set = *rc::gen::container<std::set<int64_t>>(
      rc::gen::inRange<int64_t>(1, std::max<int64_t>(rows, 2)));
  if (rows == 1) cut_set.clear();
  const VariableEntry entry =
      Entry(rows, std::vector<int64_t>(cut_set.begin(), cut_set.end()));
  const auto ids = *rc::gen::container<std::vector<int64_t>>(
      rc::gen::inRange<int64_t>(0, rows));
  const bool unique = *rc::gen::arbitrary<bool>();
  const absl::StatusOr<RowPlan> plan = PlanRows(entry, ids, unique);
  RC_ASSERT(plan.ok());
  // All requested rows, one shard after the other.
  std::vector<int64_t> asked;
  int64_t last = -1;
  for (const ShardRows& shard : plan->shards) {
    RC_ASSERT(static_cast<int64_t>(shard.shard) > last);
    last = shard.shard;
    RC_ASSERT(!shard.rows.empty());
    const ShardPlace& place = entry.shards[shard.shard];
    for (const uint32_t row : shard.rows) {
      RC_ASSERT(place.begin + row < place.end);
      asked.push_back(place.begin + row);
    }
  }
  RC_ASSERT(asked.size() == plan->num_rows);
  RC_ASSERT(plan->place.size() == ids.size());
  bool in_order = asked.size() == ids.size();
  for (size_t i = 0; i < ids.size(); ++i) {
    RC_ASSERT(plan->place[i] < asked.size());
    RC_ASSERT(asked[plan->place[i]] == ids[i]);
    in_order = in_order && plan->place[i] == i;
  }
  RC_ASSERT(plan->in_order == in_order);
  if (unique) {
    const std::set<int64_t> distinct(asked.begin(), asked.end());
    RC_ASSERT(distinct.size() == asked.size());
  } else {
    RC_ASSERT(asked.size() == ids.size());
    // Equal ids keep their order.
    for (size_t i = 0; i < ids.size(); ++i) {
      for (size_t k = i + 1; k < ids.size(); ++k) {
        if (ids[i] == ids[k]) RC_ASSERT(plan->place[i] < plan->place[k]);
      }
    }
  }
}

}  // namespace
}  // namespace capstan
