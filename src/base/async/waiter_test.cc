#include "base/async/waiter.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <memory>

namespace capstan {
namespace {

Task<> SleepOnce(Waiter& waiter, int& wakes) {
  co_await waiter.Sleep();
  ++wakes;
}

TEST(WaiterTest, WakeResumesTheSleeperFromTheQueue) {
  asio::io_context context;
  Waiter waiter(context.get_executor());
  int wakes = 0;
  Spawn(context.get_executor(), SleepOnce(waiter, wakes));
  context.poll();
  EXPECT_TRUE(waiter.occupied());
  EXPECT_TRUE(waiter.Wake());
  EXPECT_EQ(wakes, 0) << "resumed inside Wake";
  context.restart();
  context.poll();
  EXPECT_EQ(wakes, 1);
}

TEST(WaiterTest, WakeWithoutSleeperIsNotRemembered) {
  asio::io_context context;
  Waiter waiter(context.get_executor());
  EXPECT_FALSE(waiter.Wake());
  int wakes = 0;
  Spawn(context.get_executor(), SleepOnce(waiter, wakes));
  context.poll();
  EXPECT_EQ(wakes, 0);
  EXPECT_TRUE(waiter.occupied());
}

struct Node {
  explicit Node(const Executor& executor, int& alive_in)
      : waiter(executor), alive(alive_in) {
    ++alive;
  }
  ~Node() { --alive; }
  Waiter waiter;
  int& alive;
};

// Owns the object it sleeps in: a cycle that only the context can break.
Task<> SleepInOwn(std::shared_ptr<Node> node) { co_await node->waiter.Sleep(); }

TEST(WaiterTest, DestroyingTheContextDestroysSleepersInCycles) {
  int alive = 0;
  {
    asio::io_context context;
    for (int i = 0; i < 3; ++i) {
      auto node = std::make_shared<Node>(context.get_executor(), alive);
      Spawn(context.get_executor(), SleepInOwn(std::move(node)));
    }
    context.poll();
    EXPECT_EQ(alive, 3);
  }
  EXPECT_EQ(alive, 0);
}

// Wakes another from its destructor, as owners do when they give up.
struct WakesOnDestruction {
  ~WakesOnDestruction() {
    if (other != nullptr) other->waiter.Wake();
  }
  std::shared_ptr<Node> other;
};

Task<> SleepAndWakeOther(std::shared_ptr<Node> mine,
                         std::shared_ptr<Node> other) {
  WakesOnDestruction wakes;
  wakes.other = std::move(other);
  co_await mine->waiter.Sleep();
}

TEST(WaiterTest, WakingWhileTheContextIsDestroyedRunsNothing) {
  int alive = 0;
  {
    asio::io_context context;
    auto a = std::make_shared<Node>(context.get_executor(), alive);
    auto b = std::make_shared<Node>(context.get_executor(), alive);
    Spawn(context.get_executor(), SleepAndWakeOther(a, b));
    Spawn(context.get_executor(), SleepAndWakeOther(b, a));
    a.reset();
    b.reset();
    context.poll();
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace capstan
