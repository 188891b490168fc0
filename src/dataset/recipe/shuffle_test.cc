#include "dataset/recipe/shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace capstan {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> Order(uint64_t seed, uint64_t epoch, uint64_t size) {
  std::vector<uint64_t> order;
  for (uint64_t i = 0; i < size; ++i) {
    order.push_back(ShuffledAt(seed, epoch, size, i));
  }
  return order;
}

TEST(ShuffleTest, EverythingHasOnePlace) {
  for (uint64_t size = 1; size <= 300; ++size) {
    const std::vector<uint64_t> order = Order(7, 3, size);
    const std::set<uint64_t> things(order.begin(), order.end());
    EXPECT_EQ(things.size(), size);
    EXPECT_EQ(*things.rbegin(), size - 1);
  }
}

TEST(ShuffleTest, AlsoAroundPowersOfTwo) {
  for (uint64_t power = 512; power <= 65'536; power *= 2) {
    for (const uint64_t size : {power - 1, power, power + 1}) {
      const std::vector<uint64_t> order = Order(7, 3, size);
      const std::set<uint64_t> things(order.begin(), order.end());
      EXPECT_EQ(things.size(), size);
      EXPECT_EQ(*things.rbegin(), size - 1);
    }
  }
}

TEST(ShuffleTest, HugeEpochsNeedNoTable) {
  for (const uint64_t size :
       {uint64_t{1'000'000'000}, uint64_t{INT64_MAX}, uint64_t{1} << 62}) {
    std::set<uint64_t> things;
    for (uint64_t i = 0; i < 1000; ++i) {
      things.insert(ShuffledAt(1, 0, size, i));
      things.insert(ShuffledAt(1, 0, size, size - 1 - i));
    }
    EXPECT_EQ(things.size(), 2000u);
    EXPECT_LT(*things.rbegin(), size);
  }
}

TEST(ShuffleTest, SeedsAndEpochsHaveOrdersOfTheirOwn) {
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t epoch = 0; epoch < 10; ++epoch) {
      orders.insert(Order(seed, epoch, 100));
    }
  }
  EXPECT_EQ(orders.size(), 100u);
}

// Saved positions depend on these orders.
TEST(ShuffleTest, OrdersNeverChange) {
  EXPECT_THAT(Order(0, 0, 10), ElementsAre(9, 0, 4, 1, 7, 5, 2, 6, 3, 8));
  EXPECT_THAT(Order(7, 3, 10), ElementsAre(1, 0, 7, 2, 4, 6, 3, 8, 5, 9));
  EXPECT_EQ(ShuffledAt(7, 3, 1'000'000'000, 12), 497'969'823u);
  EXPECT_EQ(ShuffledAt(UINT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX - 1),
            6459263623728871091u);
}

// The sum over cells of (count - mean)^2 / mean. For fair counts it is about as
// large as the number of degrees of freedom; TooFar sets the limit.
double ChiSquare(const std::vector<int>& counts, double mean) {
  double sum = 0;
  for (const int count : counts) sum += (count - mean) * (count - mean) / mean;
  return sum;
}

// Five standard deviations above the expected value.
double TooFar(uint64_t degrees) {
  const auto mean = static_cast<double>(degrees);
  return mean + 5 * std::sqrt(2 * mean);
}

TEST(ShuffleTest, EveryOrderOfFourIsAsLikely) {
  constexpr uint64_t kEpochs = 24'000;
  std::map<std::vector<uint64_t>, int> times;
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    ++times[Order(5, epoch, 4)];
  }
  std::vector<int> counts;
  for (const auto& [order, count] : times) counts.push_back(count);
  EXPECT_EQ(counts.size(), 24u);
  EXPECT_LT(ChiSquare(counts, kEpochs / 24.0), TooFar(23));
}

TEST(ShuffleTest, PlacesAndNeighboursAreAsLikely) {
  constexpr uint64_t kEpochs = 10'000;
  for (const uint64_t size : {5, 10, 12, 20}) {
    const double mean = kEpochs / static_cast<double>(size);
    std::vector<int> at(size * size);     // position x element
    std::vector<int> after(size * size);  // element x the one before
    // No element follows itself.
    for (uint64_t i = 0; i < size; ++i) {
      after[i * size + i] = static_cast<int>(mean);
    }
    for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const std::vector<uint64_t> order = Order(11, epoch, size);
      for (uint64_t i = 0; i < size; ++i) ++at[i * size + order[i]];
      for (uint64_t i = 1; i < size; ++i) {
        ++after[order[i - 1] * size + order[i]];
      }
    }
    EXPECT_LT(ChiSquare(at, mean), TooFar((size - 1) * (size - 1))) << size;
    EXPECT_LT(ChiSquare(after, mean), TooFar(size * (size - 1))) << size;
  }
}

}  // namespace
}  // namespace capstan
