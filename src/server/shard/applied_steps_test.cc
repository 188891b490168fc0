#include "server/shard/applied_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/random.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

std::shared_ptr<MemoryBudget> NoLimit() {
  return std::make_shared<MemoryBudget>(UINT64_MAX);
}

TEST(AppliedStepsTest, RemembersStepAndPush) {
  AppliedSteps steps(NoLimit());
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
  const AppliedSteps steps(NoLimit());
  EXPECT_TRUE(steps.Contains(1, 0, 7));
  EXPECT_TRUE(steps.Contains(7, 9, 7));
  EXPECT_FALSE(steps.Contains(8, 0, 7));
}

TEST(AppliedStepsTest, ForgetsWhatTheWatermarkHasOvertaken) {
  const std::shared_ptr<MemoryBudget> budget = NoLimit();
  AppliedSteps steps(budget);
  constexpr uint64_t kLag = 100;
  for (uint64_t step = 1; step <= 100'000; ++step) {
    const uint64_t watermark = step > kLag ? step - kLag : 0;
    steps.Add(step, 0, watermark);
    ASSERT_LE(steps.size(), kLag);
    ASSERT_LE(budget->used(), 4 * kLag * 16);
    // All updates above the watermark are known.
    ASSERT_TRUE(steps.Contains(step, 0, watermark));
    ASSERT_TRUE(steps.Contains(watermark + 1, 0, watermark));
  }
  steps.Forget(100'000 - 1);
  EXPECT_EQ(budget->used(), 16u);
  EXPECT_TRUE(steps.Contains(100'000, 0, 0));
  steps.Forget(100'000);
  EXPECT_EQ(budget->used(), 0u);
}

TEST(AppliedStepsTest, AgreesWithASet) {
  Random random(7);
  AppliedSteps steps(NoLimit());
  std::set<std::pair<uint64_t, uint32_t>> model;
  uint64_t watermark = 0;
  for (int i = 0; i < 20'000; ++i) {
    // In no order, and some twice.
    const uint64_t step = watermark + 1 + random.Below(300);
    const auto push = static_cast<uint32_t>(random.Below(2));
    ASSERT_EQ(steps.Contains(step, push, watermark),
              model.contains({step, push}));
    steps.Add(step, push, watermark);
    model.emplace(step, push);
    watermark += random.Below(3);
    if (random.Below(1000) == 0) steps.Forget(watermark);
    std::erase_if(model, [&](const auto& id) { return id.first <= watermark; });
  }
}

// Updates that were applied are recorded in any case. Others wait for memory.
TEST(AppliedStepsTest, CountsBeyondAFullBudget) {
  const auto budget = std::make_shared<MemoryBudget>(100);
  ASSERT_TRUE(budget->TryTake(100));
  {
    AppliedSteps steps(budget);
    ASSERT_OK(steps.CheckRoom(0));
    steps.Add(1, 0, 0);
    EXPECT_TRUE(steps.Contains(1, 0, 0));
    EXPECT_EQ(budget->used(), 100 + 16 * 16u);
    EXPECT_FALSE(budget->TryTake(1));
    EXPECT_TRUE(budget->TryTake(0));
    budget->Give(1);
    EXPECT_FALSE(budget->TryTake(1));
    budget->Charge(1);
  }
  EXPECT_EQ(budget->used(), 100u);
}

TEST(AppliedStepsTest, AWatermarkThatNeverMovesIsFoundOut) {
  AppliedSteps steps(NoLimit());
  for (uint64_t step = 1; step <= AppliedSteps::kMost; ++step) {
    ASSERT_OK(steps.CheckRoom(0));
    steps.Add(step, 0, 0);
  }
  EXPECT_THAT(steps.CheckRoom(0),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("1048576 updates since step 0")));
  // The watermark moves after all.
  EXPECT_OK(steps.CheckRoom(10));
  EXPECT_EQ(steps.size(), AppliedSteps::kMost - 10);
  EXPECT_TRUE(steps.Contains(11, 0, 10));
}

}  // namespace
}  // namespace capstan
