#include "worker/compute_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <numeric>
#include <thread>

#include "base/async/io_thread.h"
#include "base/async/run_on.h"

namespace capstan {
namespace {

TEST(ComputeThreadsTest, WorkRunsElsewhereAndItsCallerGoesOnWhereItWas) {
  IoThread io;
  ComputeThreads threads(2);
  const auto run = [](ComputeThreads& on) -> Task<bool> {
    const std::thread::id here = std::this_thread::get_id();
    std::thread::id there = here;
    std::function<void()> work = [&] { there = std::this_thread::get_id(); };
    co_await on.Run(std::move(work));
    co_return there != here&& std::this_thread::get_id() == here;
  };
  EXPECT_TRUE(RunOn(io.executor(), run(threads)));
  EXPECT_EQ(threads.AwaitIdle(std::chrono::seconds(10)), 0u);
}

TEST(ComputeThreadsTest, AsManyRunAtOnceAsThereAreThreads) {
  constexpr int kThreads = 3;
  IoThread io;
  ComputeThreads threads(kThreads);
  std::latch all(kThreads);
  std::vector<std::future<void>> runs;
  for (int i = 0; i < kThreads; ++i) {
    std::function<void()> work = [&] { all.arrive_and_wait(); };
    runs.push_back(StartOn(io.executor(), threads.Run(std::move(work))));
  }
  for (std::future<void>& run : runs) run.get();
}

TEST(ComputeThreadsTest, OneThreadRunsThemInTheOrderOfTheCalls) {
  IoThread io;
  ComputeThreads threads(1);
  std::vector<int> order;
  std::vector<std::future<void>> runs;
  for (int i = 0; i < 100; ++i) {
    std::function<void()> work = [&order, i] { order.push_back(i); };
    runs.push_back(StartOn(io.executor(), threads.Run(std::move(work))));
  }
  for (std::future<void>& run : runs) run.get();
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(ComputeThreadsTest, TheEndWaitsForWhatRuns) {
  std::atomic<int> ran = 0;
  std::latch begun(1);
  std::latch end(1);
  IoThread io;
  std::thread opener;
  {
    ComputeThreads threads(1);
    std::function<void()> work = [&] {
      begun.count_down();
      end.wait();
      ++ran;
    };
    const std::future<void> run =
        StartOn(io.executor(), threads.Run(std::move(work)));
    begun.wait();
    opener = std::thread([&] { end.count_down(); });
  }
  EXPECT_EQ(ran, 1);
  opener.join();
}

}  // namespace
}  // namespace capstan
