#include "server/shard/memory_budget.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace capstan {
namespace {

TEST(MemoryBudgetTest, GivesOutNoMoreThanThereIs) {
  MemoryBudget budget(100);
  EXPECT_EQ(budget.limit(), 100u);
  EXPECT_TRUE(budget.TryTake(60));
  EXPECT_FALSE(budget.TryTake(41));
  EXPECT_FALSE(budget.TryTake(UINT64_MAX));
  EXPECT_TRUE(budget.TryTake(40));
  EXPECT_TRUE(budget.TryTake(0));
  EXPECT_FALSE(budget.TryTake(1));
  EXPECT_EQ(budget.used(), 100u);
  budget.Give(60);
  EXPECT_EQ(budget.used(), 40u);
  EXPECT_TRUE(budget.TryTake(60));
}

TEST(MemoryBudgetTest, WithoutALimit) {
  MemoryBudget budget(UINT64_MAX);
  EXPECT_TRUE(budget.TryTake(UINT64_MAX - 1));
  EXPECT_FALSE(budget.TryTake(2));
  EXPECT_TRUE(budget.TryTake(1));
}

TEST(MemoryBudgetTest, ASharesEndGivesItBack) {
  auto budget = std::make_shared<MemoryBudget>(100);
  {
    std::optional<BudgetShare> first = BudgetShare::Take(budget, 70);
    ASSERT_TRUE(first);
    EXPECT_FALSE(BudgetShare::Take(budget, 31));
    EXPECT_EQ(budget->used(), 70u);
    // After a move it is still one share.
    BudgetShare second = *std::move(first);
    first.reset();
    EXPECT_EQ(budget->used(), 70u);
    BudgetShare third;
    third = std::move(second);
    EXPECT_EQ(budget->used(), 70u);
  }
  EXPECT_EQ(budget->used(), 0u);
}

TEST(MemoryBudgetTest, AShareMayOutliveTheOwner) {
  auto budget = std::make_shared<MemoryBudget>(100);
  std::optional<BudgetShare> share = BudgetShare::Take(budget, 70);
  const std::weak_ptr<MemoryBudget> seen = budget;
  budget = nullptr;
  EXPECT_FALSE(seen.expired());
  share.reset();
  EXPECT_TRUE(seen.expired());
}

TEST(MemoryBudgetTest, ManyThreads) {
  MemoryBudget budget(10);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        if (!budget.TryTake(4)) continue;
        EXPECT_LE(budget.used(), 10u);
        budget.Give(4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace capstan
