#include "transport/byte_budget.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "base/async/io_thread.h"
#include "base/async/run_on.h"

namespace capstan {
namespace {

Task<> Take(ByteBudget& budget, Executor executor, uint64_t bytes, int& done) {
  co_await budget.Acquire(executor, bytes);
  ++done;
}

void Poll(asio::io_context& context) {
  context.restart();
  context.poll();
}

TEST(ByteBudgetTest, WaitsInOrderUntilThereIsRoom) {
  asio::io_context context;
  ByteBudget budget(100);
  int first = 0;
  int second = 0;
  int third = 0;
  Spawn(context.get_executor(),
        Take(budget, context.get_executor(), 80, first));
  Spawn(context.get_executor(),
        Take(budget, context.get_executor(), 50, second));
  Spawn(context.get_executor(),
        Take(budget, context.get_executor(), 10, third));
  Poll(context);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  EXPECT_EQ(third, 0) << "overtook";
  EXPECT_FALSE(budget.TryAcquire(1)) << "overtook";
  budget.Release(80);
  Poll(context);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(third, 1);
  EXPECT_EQ(budget.used(), 60u);
}

TEST(ByteBudgetTest, DestroyedWaitersGiveBackWhatTheyHadOrWanted) {
  ByteBudget budget(100);
  EXPECT_TRUE(budget.TryAcquire(100));
  int never = 0;
  int other = 0;
  asio::io_context living;
  {
    asio::io_context dying;
    Spawn(dying.get_executor(), Take(budget, dying.get_executor(), 100, never));
    Poll(dying);
    Spawn(living.get_executor(),
          Take(budget, living.get_executor(), 30, other));
    Poll(living);
    budget.Release(100);  // granted to the dying coroutine, which never resumes
  }
  Poll(living);
  EXPECT_EQ(never, 0);
  EXPECT_EQ(other, 1);
  EXPECT_EQ(budget.used(), 30u);
}

Task<int> TakeAndGive(ByteBudget& budget, Executor executor, int times,
                      std::atomic<int64_t>& held, uint64_t bytes) {
  for (int i = 0; i < times; ++i) {
    co_await budget.Acquire(executor, bytes);
    const HeldBytes mine(budget, bytes);
    const int64_t now = held += static_cast<int64_t>(bytes);
    if (now > 100) co_return 1;
    held -= static_cast<int64_t>(bytes);
  }
  co_return 0;
}

TEST(ByteBudgetTest, HoldsItsBoundBetweenThreads) {
  ByteBudget budget(100);
  std::atomic<int64_t> held = 0;
  IoThreads threads(3);
  std::vector<std::future<int>> results;
  for (size_t i = 0; i < 9; ++i) {
    const Executor executor = threads.executor(i);
    results.push_back(StartOn(
        executor, TakeAndGive(budget, executor, 300, held, 20 + 9 * i)));
  }
  for (std::future<int>& result : results) EXPECT_EQ(result.get(), 0);
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace capstan
