#include "server/applied_steps.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(AppliedStepsTest, RemembersStepAndPush) {
  AppliedSteps steps;
  EXPECT_FALSE(steps.Contains(5, 0, 0));
  steps.Add(5, 0, 0);
  EXPECT_TRUE(steps.Contains(5, 0, 0));
  EXPECT_FALSE(steps.Contains(5, 1, 0));
  EXPECT_FALSE(steps.Contains(4, 0, 0));
  EXPECT_FALSE(steps.Contains(6, 0, 0));
  steps.Add(5, 1, 0);
  EXPECT_TRUE(steps.Contains(5, 1, 0));
  EXPECT_EQ(steps.size(), 2u);
  steps.Add(5, 1, 0);
  EXPECT_EQ(steps.size(), 2u);
}

TEST(AppliedStepsTest, StepsUpToTheWatermarkWereApplied) {
  const AppliedSteps steps;
  EXPECT_TRUE(steps.Contains(1, 0, 7));
  EXPECT_TRUE(steps.Contains(7, 9, 7));
  EXPECT_FALSE(steps.Contains(8, 0, 7));
}

TEST(AppliedStepsTest, ForgetsWhatTheWatermarkHasOvertaken) {
  AppliedSteps steps;
  constexpr uint64_t kLag = 100;
  for (uint64_t step = 1; step <= 100'000; ++step) {
    const uint64_t watermark = step > kLag ? step - kLag : 0;
    steps.Add(step, 0, watermark);
    ASSERT_LE(steps.size(), 2000u);
    // All above the watermark are known.
    ASSERT_TRUE(steps.Contains(step, 0, watermark));
    ASSERT_TRUE(steps.Contains(watermark + 1, 0, watermark));
  }
}

TEST(AppliedStepsTest, AWatermarkThatNeverMovesIsFoundOut) {
  AppliedSteps steps;
  for (uint64_t step = 1; step <= AppliedSteps::kMost; ++step) {
    ASSERT_OK(steps.CheckRoom(0));
    steps.Add(step, 0, 0);
  }
  EXPECT_THAT(steps.CheckRoom(0),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("1048576 updates since step 0")));
  // It moves after all.
  EXPECT_OK(steps.CheckRoom(10));
  EXPECT_EQ(steps.size(), AppliedSteps::kMost - 10);
  EXPECT_TRUE(steps.Contains(11, 0, 10));
}

}  // namespace
}  // namespace capstan
