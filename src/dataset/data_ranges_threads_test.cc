#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include "capstan/dataset.h"

namespace capstan {
namespace {

using ::testing::Each;

constexpr int kThreads = 4;

// How often each example of an epoch was used, counted by all threads.
using UseCounts = std::vector<std::atomic<int>>;

std::vector<int> Counts(const UseCounts& uses) {
  return {uses.begin(), uses.end()};
}

void Use(const DataRange& range, UseCounts& uses) {
  for (int64_t i = range.begin; i < range.end; ++i) {
    ++uses[static_cast<size_t>(i)];
  }
}

TEST(DataRangesThreadsTest, EveryExampleIsUsedOnce) {
  constexpr int64_t kExamples = 20'000;
  DataRanges ranges({.examples = kExamples, .batch = 3, .shuffle = true});
  std::vector<UseCounts> uses;
  uses.emplace_back(kExamples);
  uses.emplace_back(kExamples);
  std::latch start(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        // All threads use both epochs, wherever the other threads are.
        for (int step = 0; ranges.epoch() < 2; ++step) {
          std::optional<DataTicket> ticket = ranges.Next();
          if (!ticket || ticket->range().epoch >= 2 || step % 7 == 0) continue;
          Use(ticket->range(), uses[ticket->range().epoch]);
          ticket->Done();
        }
      });
    }
  }
  // What was returned after the last end was announced.
  while (std::optional<DataTicket> ticket = ranges.Next()) {
    if (ticket->range().epoch >= 2) break;
    Use(ticket->range(), uses[ticket->range().epoch]);
    ticket->Done();
  }
  EXPECT_THAT(Counts(uses[0]), Each(1));
  EXPECT_THAT(Counts(uses[1]), Each(1));
  EXPECT_EQ(ranges.outstanding(), 0u);
}

}  // namespace
}  // namespace capstan
