#include "optimizer/row_set.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(RowSetTest, FindsWhatIsInAndWhatIsNot) {
  RowSet set;
  for (size_t row : {0, 1, 63, 64, 130}) set.Insert(row);
  EXPECT_EQ(set.FindIn(0, 200), 0u);
  EXPECT_EQ(set.FindIn(2, 200), 63u);
  EXPECT_EQ(set.FindIn(65, 200), 130u);
  EXPECT_EQ(set.FindIn(131, 200), 200u);
  EXPECT_EQ(set.FindNotIn(0, 200), 2u);
  EXPECT_EQ(set.FindNotIn(63, 200), 65u);
  EXPECT_EQ(set.FindNotIn(130, 200), 131u);
}

TEST(RowSetTest, StopsAtTheEnd) {
  RowSet set;
  set.Insert(10);
  EXPECT_EQ(set.FindIn(0, 10), 10u);
  EXPECT_EQ(set.FindIn(5, 5), 5u);
  EXPECT_EQ(set.FindNotIn(10, 11), 11u);
  EXPECT_EQ(set.FindIn(11, RowSet::kCapacity), RowSet::kCapacity);
}

TEST(RowSetTest, ItsLastNumber) {
  RowSet set;
  set.Insert(RowSet::kCapacity - 1);
  EXPECT_EQ(set.FindIn(0, RowSet::kCapacity), RowSet::kCapacity - 1);
}

}  // namespace
}  // namespace capstan
