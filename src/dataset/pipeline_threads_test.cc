// Operations with threads: order, bounds, and shutdown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "capstan/dataset.h"
#include "dataset/read_all_test.h"

namespace capstan {
namespace {

// Blocks threads until it is opened.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// Spins until `condition`, which other threads make true.
template <typename Condition>
void Until(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

Example Square(const Example& e) { return Number(ValueOf(e) * ValueOf(e)); }

TEST(ParallelMapTest, KeepsTheOrder) {
  const Dataset dataset = Dataset::Range(0, 2000);
  const auto expected = ValuesOf(dataset.Map(Square));
  for (const int parallel : {2, 3, 8}) {
    EXPECT_EQ(ValuesOf(dataset.Map(Square, {.parallel = parallel})), expected);
  }
}

TEST(ParallelMapTest, KeepsTheOrderThoughTheFirstIsTheLastToBeReady) {
  std::atomic<int> done = 0;
  const auto wait_for_others = [&](const Example& e) {
    if (ValueOf(e) == 0) Until([&] { return done == 3; });
    ++done;
    return e;
  };
  const auto next =
      Dataset::Range(0, 4).Map(wait_for_others, {.parallel = 2}).Open();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(next(), Number(i));
}

TEST(ParallelMapTest, WhatIsThrownHasItsPlace) {
  const auto next = Dataset::Range(0, 5)
                        .Map(
                            [](const Example& e) {
                              if (ValueOf(e) % 2 == 1) {
                                throw std::runtime_error("odd");
                              }
                              return e;
                            },
                            {.parallel = 3})
                        .Open();
  EXPECT_EQ(next(), Number(0));
  EXPECT_THROW(next(), std::runtime_error);
  EXPECT_EQ(next(), Number(2));
  EXPECT_THROW(next(), std::runtime_error);
  EXPECT_EQ(next(), Number(4));
  EXPECT_EQ(next(), std::nullopt);
}

TEST(ParallelMapTest, WhatTheInputThrowsHasItsPlace) {
  const auto fail = [](const Example& e) {
    if (ValueOf(e) == 1) throw std::runtime_error("one");
    return e;
  };
  const auto next =
      Dataset::Range(0, 3).Map(fail).Map(Square, {.parallel = 2}).Open();
  EXPECT_EQ(next(), Number(0));
  EXPECT_THROW(next(), std::runtime_error);
  EXPECT_EQ(next(), Number(4));
}

TEST(ParallelMapTest, ReadsTwiceAsManyAheadAsThreads) {
  std::atomic<std::int64_t> asked = 0;
  const auto next = Counted(100, asked).Map(Square, {.parallel = 3}).Open();
  next();
  EXPECT_EQ(asked, 6);
  next();
  EXPECT_EQ(asked, 7);
}

TEST(ParallelMapTest, CanEndInTheMiddle) {
  for (int taken = 0; taken < 5; ++taken) {
    const auto next =
        Dataset::Range(0, 1000).Map(Square, {.parallel = 4}).Open();
    for (int i = 0; i < taken; ++i) next();
  }
}

TEST(PrefetchTest, GivesTheSame) {
  for (const std::int64_t n : {1, 2, 1000}) {
    EXPECT_EQ(ValuesOf(Dataset::Range(0, 3000).Prefetch(n)),
              ValuesOf(Dataset::Range(0, 3000)));
  }
}

TEST(PrefetchTest, ReadsNoMoreAheadThanAskedFor) {
  std::atomic<std::int64_t> asked = 0;
  const auto next = Counted(100, asked).Prefetch(5).Open();
  Until([&] { return asked == 5; });
  next();
  Until([&] { return asked == 6; });
  // Nothing more must be read; a read after this check would go unseen.
  EXPECT_EQ(asked, 6);
}

TEST(PrefetchTest, WhatIsThrownHasItsPlace) {
  const auto next = Dataset::Range(0, 3)
                        .Map([](const Example& e) {
                          if (ValueOf(e) == 1) throw std::runtime_error("one");
                          return e;
                        })
                        .Prefetch(10)
                        .Open();
  EXPECT_EQ(next(), Number(0));
  EXPECT_THROW(next(), std::runtime_error);
  EXPECT_EQ(next(), Number(2));
  EXPECT_EQ(next(), std::nullopt);
}

TEST(PrefetchTest, CanEndInTheMiddle) {
  for (int taken = 0; taken < 5; ++taken) {
    const auto next =
        Dataset::Range(0, 1000).Map(Square).Prefetch(3).Prefetch(2).Open();
    for (int i = 0; i < taken; ++i) next();
  }
}

// Each of these would read forever, or for very long, before returning an
// element.
TEST(PrefetchTest, EndsWhileItsInputLooksForTheNext) {
  const auto nothing = [](const Example&) { return false; };
  const Dataset endless = Dataset::Range(0, 10).Repeat();
  for (const Dataset& dataset :
       {endless.Filter(nothing), endless.Skip(INT64_MAX),
        endless.Shuffle(INT64_MAX / 2), endless.Shard(INT32_MAX, INT32_MAX - 1),
        endless.Filter(nothing).Prefetch(1).Batch(3)}) {
    const auto next = dataset.Prefetch(2).Open();
  }
}

TEST(PrefetchTest, WorksWhileNobodyAsks) {
  Gate gate;
  const auto next = Dataset::Range(0, 1)
                        .Map([&](const Example& e) {
                          gate.Open();
                          return e;
                        })
                        .Prefetch(1)
                        .Open();
  gate.Wait();
  EXPECT_EQ(next(), Number(0));
}

// Only the operation holds the datasets that its function makes.
TEST(DatasetThreadsTest, InterleavedDatasetsMayHaveThreads) {
  const Dataset dataset = Dataset::Range(0, 20).Interleave(
      [](const Example& e) {
        const std::int64_t begin = 10 * ValueOf(e);
        return Dataset::Range(begin, begin + 3)
            .Map([begin](
                     const Example& x) { return Number(ValueOf(x) - begin); },
                 {.parallel = 2})
            .Prefetch(5);
      },
      {.cycle_length = 3, .block_length = 1});
  const auto values = ValuesOf(dataset);
  ASSERT_EQ(values.size(), 60u);
  for (const std::int64_t value : values) EXPECT_LT(value, 3);
  const auto next = dataset.Open();
  for (int i = 0; i < 10; ++i) next();
}

TEST(DatasetThreadsTest, SeveralMayReadOneDataset) {
  const Dataset dataset =
      Dataset::Range(0, 500).Map(Square, {.parallel = 2}).Cache().Prefetch(3);
  const auto expected = ValuesOf(Dataset::Range(0, 500).Map(Square));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(ValuesOf(dataset), expected); });
  }
}

}  // namespace
}  // namespace capstan
