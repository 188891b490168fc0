#include "train/run_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::int64_t> AllOf(const NextBatch& next) {
  std::vector<std::int64_t> values;
  while (const std::optional<Example> batch = next()) {
    const Tensor value = (*batch)["value"];
    values.push_back(value.Values<std::int64_t>()[0]);
  }
  return values;
}

TEST(RunStepTest, ReadsARange) {
  const ExampleTable table = ExampleTable::Open(Dataset::Range(0, 10));
  EXPECT_THAT(AllOf(ReadRange(table, {.begin = 3, .end = 6}, 0)),
              ElementsAre(3, 4, 5));
  EXPECT_THAT(AllOf(ReadRange(table, {.begin = 3, .end = 3}, 0)), IsEmpty());
}

TEST(RunStepTest, ReadsTheEpochOfTheRange) {
  const ExampleTable table =
      ExampleTable::Open(Dataset::Range(0, 100).Shuffle(100, {.seed = 3}));
  const DataRange first = {.begin = 0, .end = 5, .epoch = 0};
  const DataRange again = {.begin = 0, .end = 5, .epoch = 1};
  EXPECT_EQ(AllOf(ReadRange(table, first, 0)),
            AllOf(ReadRange(table, first, 0)));
  EXPECT_NE(AllOf(ReadRange(table, first, 0)),
            AllOf(ReadRange(table, again, 0)));
}

TEST(RunStepTest, ReadsWhatStepsShare) {
  Iterator<Example> iterator(Dataset::Range(0, 5).Open());
  bool ended = false;
  EXPECT_THAT(AllOf(ReadShared(iterator, 3, ended)), ElementsAre(0, 1, 2));
  EXPECT_FALSE(ended);
  EXPECT_THAT(AllOf(ReadShared(iterator, 2, ended)), ElementsAre(3, 4));
  EXPECT_FALSE(ended);
  EXPECT_THAT(AllOf(ReadShared(iterator, 2, ended)), IsEmpty());
  EXPECT_TRUE(ended);
}

TEST(RunStepTest, ShardsAreAllOfItOnce) {
  const Dataset data = Dataset::Range(0, 7);
  EXPECT_THAT(AllOf(ReadShard(data, 0, 3, 100)), ElementsAre(0, 3, 6));
  EXPECT_THAT(AllOf(ReadShard(data, 1, 3, 100)), ElementsAre(1, 4));
  EXPECT_THAT(AllOf(ReadShard(data, 2, 3, 100)), ElementsAre(2, 5));
  EXPECT_THAT(AllOf(ReadShard(data, 0, 3, 4)), ElementsAre(0, 3));
  // From infinite data.
  EXPECT_THAT(AllOf(ReadShard(data.Repeat(), 1, 4, 10)), ElementsAre(1, 5, 2));
}

}  // namespace
}  // namespace capstan
