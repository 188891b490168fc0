#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "capstan/dataset.h"
#include "dataset/thrown_test.h"

namespace capstan {
namespace {

using ::testing::ElementsAreArray;

// The numbers from 0 to below `end`.
Iterator<int>::Source CountTo(int end) {
  return [next = 0, end]() mutable -> std::optional<int> {
    if (next == end) return std::nullopt;
    return next++;
  };
}

TEST(IteratorTest, GivesTheElementsInOrder) {
  Iterator<int> iterator(CountTo(3));
  EXPECT_EQ(iterator.position(), 0u);
  EXPECT_EQ(iterator.Next(), 0);
  EXPECT_EQ(iterator.TryNext(), 1);
  EXPECT_EQ(iterator.Next(), 2);
  EXPECT_EQ(iterator.position(), 3u);
}

TEST(IteratorTest, TheEndIsForGood) {
  Iterator<int> iterator(CountTo(2));
  iterator.Next();
  iterator.Next();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(iterator.TryNext(), std::nullopt);
    EXPECT_EQ(Thrown([&] { iterator.Next(); }),
              "the dataset has ended after 2 elements: repeat it, or use "
              "TryNext (OutOfRange)");
  }
  EXPECT_EQ(iterator.position(), 2u);
}

TEST(IteratorTest, ASourceThatHasEndedIsNotAskedAgain) {
  int asked = 0;
  Iterator<int> iterator([&]() -> std::optional<int> {
    // Would continue after the end.
    return ++asked == 2 ? std::nullopt : std::optional(asked);
  });
  EXPECT_EQ(iterator.TryNext(), 1);
  EXPECT_EQ(iterator.TryNext(), std::nullopt);
  EXPECT_EQ(iterator.TryNext(), std::nullopt);
  EXPECT_EQ(asked, 2);
}

TEST(IteratorTest, ASourceThatHasEndedIsDestroyed) {
  const auto file = std::make_shared<int>();
  Iterator<int> iterator([file] { return std::optional<int>(); });
  EXPECT_EQ(file.use_count(), 2);
  EXPECT_EQ(iterator.TryNext(), std::nullopt);
  EXPECT_EQ(file.use_count(), 1);
}

TEST(IteratorTest, WhatTheSourceThrowsPassesThrough) {
  int asked = 0;
  Iterator<int> iterator([&]() -> std::optional<int> {
    if (++asked == 2) throw std::runtime_error("a bad block");
    return asked;
  });
  EXPECT_EQ(iterator.Next(), 1);
  EXPECT_THROW(iterator.Next(), std::runtime_error);
  EXPECT_EQ(iterator.position(), 1u);
  EXPECT_EQ(iterator.Next(), 3);
  EXPECT_EQ(iterator.position(), 2u);
}

TEST(IteratorTest, ElementsNeedOnlyMove) {
  Iterator<std::unique_ptr<int>> iterator(
      [] { return std::optional(std::make_unique<int>(5)); });
  EXPECT_EQ(*iterator.Next(), 5);
  EXPECT_EQ(**iterator.TryNext(), 5);
}

TEST(IteratorTest, AnEmptyFunctionIsNoSource) {
  EXPECT_EQ(Thrown([] { Iterator<int> iterator(nullptr); }),
            "an iterator needs a source; this one is an empty function "
            "(InvalidArgument)");
}

TEST(IteratorTest, ThreadsShareTheElements) {
  constexpr int kElements = 20'000;
  Iterator<int> iterator(CountTo(kElements));
  std::vector<std::vector<int>> got(4);
  {
    std::vector<std::jthread> threads;
    for (std::vector<int>& mine : got) {
      threads.emplace_back([&] {
        while (const auto element = iterator.TryNext()) {
          mine.push_back(*element);
        }
      });
    }
  }
  std::vector<int> times(kElements, 0);
  for (const std::vector<int>& mine : got) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    for (const int element : mine) ++times.at(static_cast<size_t>(element));
  }
  EXPECT_THAT(times, ElementsAreArray(std::vector<int>(kElements, 1)));
  EXPECT_EQ(iterator.position(), uint64_t{kElements});
}

}  // namespace
}  // namespace capstan
