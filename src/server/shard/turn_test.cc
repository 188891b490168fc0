#include "server/shard/turn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "base/async/io_thread.h"
#include "base/async/run_on.h"

namespace capstan {
namespace {

// A piece of work that a plain thread can wait for.
struct TestWork : Turn::Work {
  TestWork() {
    run = [](Turn::Work& work) {
      auto& self = static_cast<TestWork&>(work);
      self.function();
    };
    done = [](Turn::Work& work) {
      static_cast<TestWork&>(work).finished.store(true);
      static_cast<TestWork&>(work).finished.notify_one();
    };
  }
  std::function<void()> function;
  std::atomic<bool> finished = false;
};

TEST(TurnTest, AFreeTurnRunsAtOnce) {
  Turn turn;
  int runs = 0;
  for (int i = 0; i < 3; ++i) {
    TestWork work;
    work.function = [&] { ++runs; };
    EXPECT_TRUE(turn.Enter(work));
    EXPECT_FALSE(work.finished);  // only for work left to another thread
  }
  EXPECT_EQ(runs, 3);
}

TEST(TurnTest, WhatIsLeftRunsInOrder) {
  Turn turn;
  std::vector<int> order;
  std::vector<TestWork> left(5);
  TestWork first;
  first.function = [&] {
    order.push_back(-1);
    // As other threads would while the turn is taken.
    for (int i = 0; i < 5; ++i) {
      left[static_cast<size_t>(i)].function = [&order, i] {
        order.push_back(i);
      };
      EXPECT_FALSE(turn.Enter(left[static_cast<size_t>(i)]));
      EXPECT_FALSE(left[static_cast<size_t>(i)].finished);
    }
  };
  EXPECT_TRUE(turn.Enter(first));
  EXPECT_EQ(order, (std::vector<int>{-1, 0, 1, 2, 3, 4}));
  for (const TestWork& work : left) EXPECT_TRUE(work.finished);
}

TEST(TurnTest, WhatComesWhileTheLeftRunsIsNotForgotten) {
  Turn turn;
  std::vector<int> order;
  TestWork first;
  TestWork second;
  TestWork third;
  third.function = [&] { order.push_back(3); };
  second.function = [&] {
    order.push_back(2);
    EXPECT_FALSE(turn.Enter(third));
  };
  first.function = [&] {
    order.push_back(1);
    EXPECT_FALSE(turn.Enter(second));
  };
  EXPECT_TRUE(turn.Enter(first));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(third.finished);
  // It is free again.
  TestWork last;
  last.function = [&] { order.push_back(4); };
  EXPECT_TRUE(turn.Enter(last));
}

TEST(TurnTest, ManyThreadsExcludeOneAnother) {
  constexpr int kThreads = 4;
  constexpr int kEntries = 5000;
  Turn turn;
  // Used only in the turn, without atomics: ThreadSanitizer checks that.
  int inside = 0;
  int64_t total = 0;
  std::vector<int> last(kThreads, -1);
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int i = 0; i < kEntries; ++i) {
        TestWork work;
        work.function = [&] {
          EXPECT_EQ(++inside, 1);
          // The entries of one thread come in order.
          EXPECT_EQ(last[static_cast<size_t>(t)], i - 1);
          last[static_cast<size_t>(t)] = i;
          ++total;
          --inside;
        };
        if (!turn.Enter(work)) work.finished.wait(false);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, kThreads * kEntries);
}

Task<> EnterMany(Turn& turn, Executor home, int count, int64_t& total) {
  for (int i = 0; i < count; ++i) {
    TurnEntry entry(home, [&] { ++total; });
    if (!turn.Enter(entry)) co_await entry.Done();
  }
}

TEST(TurnTest, CoroutinesGoOnWhereTheyLive) {
  constexpr int kThreads = 4;
  constexpr int kCoroutines = 3;
  constexpr int kEntries = 1000;
  Turn turn;
  int64_t total = 0;
  IoThreads threads(kThreads);
  std::vector<std::future<void>> done;
  for (size_t t = 0; t < kThreads; ++t) {
    const Executor home = threads.executor(t);
    for (int c = 0; c < kCoroutines; ++c) {
      done.push_back(StartOn(home, EnterMany(turn, home, kEntries, total)));
    }
  }
  for (std::future<void>& one : done) one.get();
  EXPECT_EQ(total, kThreads * kCoroutines * kEntries);
}

}  // namespace
}  // namespace capstan
