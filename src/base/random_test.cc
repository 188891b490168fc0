#include "base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "rapidcheck/gtest.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> Draw(Random random, size_t count) {
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) value = random.NextU64();
  return values;
}

// Random123's kat_vectors, philox4x32 with 10 rounds.
TEST(PhiloxTest, PublishedVectors) {
  EXPECT_THAT(Philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_THAT(Philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                     {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(PhiloxTest, IsConstexpr) {
  static_assert(Philox({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
}

// The first block of seed 0 is the published zero vector. The other values
// pin the layout of counters and keys: changing them changes every seeded run.
TEST(RandomTest, SequenceNeverChanges) {
  EXPECT_THAT(Draw(Random(0), 4),
              ElementsAre(0xe169c58d6627e8d5u, 0x9b00dbd8bc57ac4cu,
                          0x5cb200dbf8e4cca4u, 0x097eff67b1a574ebu));
  EXPECT_THAT(Draw(Random(0x299f31d0a4093822, 0x0370734413198a2e), 2),
              ElementsAre(0x61bd7780b60a410eu, 0x3d51eb3fa53f3958u));
  EXPECT_EQ(Random(1).Fork("disk").NextU64(), 0xb4182166986ef200u);
  EXPECT_EQ(Random(1).Fork(7).NextU64(), 0xdd5aae970593e375u);
  EXPECT_THAT(RandomBitsAt(1, 2),
              ElementsAre(0xe15d784874689dacu, 0x7f6c04fd0e2b8e76u));
}

TEST(RandomTest, CopyContinuesAlike) {
  Random one(5);
  one.NextU64();
  Random two = one;
  for (int i = 0; i < 9; ++i) EXPECT_EQ(one.NextU64(), two.NextU64());
}

TEST(RandomTest, SeedsAndStreamsDiffer) {
  const std::vector<std::vector<uint64_t>> sequences = {
      Draw(Random(1), 8),          Draw(Random(2), 8),
      Draw(Random(1, 1), 8),       Draw(Random(1, 2), 8),
      Draw(Random(1ull << 32), 8), Draw(Random(1, 1ull << 32), 8)};
  std::set<uint64_t> all;
  for (const auto& sequence : sequences) {
    all.insert(sequence.begin(), sequence.end());
  }
  EXPECT_EQ(all.size(), 8 * sequences.size());
}

TEST(RandomTest, ForkDoesNotDependOnThePosition) {
  Random random(3);
  const auto before = Draw(random.Fork("net"), 4);
  for (int i = 0; i < 7; ++i) random.NextU64();
  EXPECT_EQ(Draw(random.Fork("net"), 4), before);
}

TEST(RandomTest, ForksDiffer) {
  const Random random(3);
  std::set<uint64_t> firsts = {Random(3).NextU64()};
  for (uint64_t id = 0; id < 1000; ++id) {
    firsts.insert(random.Fork(id).NextU64());
    firsts.insert(random.Fork(std::to_string(id)).NextU64());
    firsts.insert(random.Fork(id).Fork(id).NextU64());
  }
  EXPECT_EQ(firsts.size(), 3001u);
}

TEST(RandomTest, FromOsDiffersEachTime) {
  EXPECT_NE(Draw(Random::FromOs(), 2), Draw(Random::FromOs(), 2));
}

TEST(RandomTest, BelowHasItsEdges) {
  Random random(1);
  EXPECT_EQ(random.Below(0), 0u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.Below(1), 0u);
}

// Chi-square with 9 degrees of freedom exceeds 33.7 for one seed in 10,000;
// this seed is fixed.
TEST(RandomTest, BelowIsEven) {
  Random random(1);
  constexpr int kDraws = 100000;
  std::array<int, 10> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[random.Below(10)];
  double chi_square = 0;
  for (int count : counts) {
    const double off = count - kDraws / 10.0;
    chi_square += off * off / (kDraws / 10.0);
  }
  EXPECT_LT(chi_square, 33.7);
}

// With n = 3 * 2^62, "modulo n" would give the lowest third double weight, and
// the high half of a product without redrawing would favour every third number.
TEST(RandomTest, BelowHasNoBias) {
  Random random(1);
  constexpr uint64_t kThird = uint64_t{1} << 62;
  constexpr int kDraws = 30000;
  int low = 0;
  int every_third = 0;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t value = random.Below(3 * kThird);
    low += value < kThird;
    every_third += value % 3 == 0;
  }
  const double five_sigma = 5 * std::sqrt(kDraws * 2 / 9.0);
  EXPECT_NEAR(low, kDraws / 3, five_sigma);
  EXPECT_NEAR(every_third, kDraws / 3, five_sigma);
}

TEST(RandomTest, BetweenIncludesBothEnds) {
  Random random(1);
  std::set<int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.Between(-2, 2));
  EXPECT_THAT(seen, ElementsAre(-2, -1, 0, 1, 2));
  EXPECT_EQ(random.Between(7, 7), 7);
  EXPECT_EQ(random.Between(7, 6), 7);
}

TEST(RandomTest, BetweenSpansAllIntegers) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  Random random(1);
  int negative = 0;
  for (int i = 0; i < 1000; ++i) negative += random.Between(kMin, kMax) < 0;
  EXPECT_NEAR(negative, 500, 80);
  for (int i = 0; i < 1000; ++i) EXPECT_GE(random.Between(0, kMax), 0);
}

TEST(RandomTest, UniformHasMeanAndVariance) {
  Random random(1);
  constexpr int kDraws = 100000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.Uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(squares / kDraws - mean * mean, 1.0 / 12, 0.002);
}

TEST(RandomTest, ChanceHasItsEdges) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(random.Chance(0));
    EXPECT_FALSE(random.Chance(-1));
    EXPECT_FALSE(random.Chance(std::numeric_limits<double>::quiet_NaN()));
    EXPECT_TRUE(random.Chance(1));
    EXPECT_TRUE(random.Chance(2));
  }
  int hits = 0;
  for (int i = 0; i < 10000; ++i) hits += random.Chance(0.25);
  EXPECT_NEAR(hits, 2500, 220);
}

TEST(RandomTest, ChanceAlwaysDrawsOne) {
  Random one(1);
  Random two(1);
  one.Chance(0);
  two.NextU64();
  EXPECT_EQ(one.NextU64(), two.NextU64());
}

// An array of 1000 elements, split anywhere, gives the same numbers.
TEST(RandomAtTest, DoesNotDependOnSharding) {
  std::vector<double> whole;
  for (uint64_t i = 0; i < 1000; ++i) whole.push_back(UniformAt(9, i));
  for (uint64_t shards : {1, 2, 3, 7}) {
    for (uint64_t shard = 0; shard < shards; ++shard) {
      for (uint64_t i = shard; i < 1000; i += shards) {
        EXPECT_EQ(UniformAt(9, i), whole[i]);
      }
    }
  }
}

TEST(RandomAtTest, ElementsDrawsAndSequencesDiffer) {
  std::set<uint64_t> all;
  for (uint64_t index = 0; index < 100; ++index) {
    for (uint32_t draw = 0; draw < 3; ++draw) {
      for (uint64_t bits : RandomBitsAt(4, index, draw)) all.insert(bits);
    }
  }
  for (uint64_t stream = 0; stream < 3; ++stream) {
    for (uint64_t bits : Draw(Random(4, stream), 200)) all.insert(bits);
  }
  EXPECT_EQ(all.size(), 1200u);
}

TEST(RandomAtTest, UniformHasMean) {
  double sum = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    const double value = UniformAt(1, i);
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

RC_GTEST_PROP(RandomProperty, ResultsAreInRange,
              (uint64_t seed, uint64_t n, int64_t a, int64_t b)) {
  Random random(seed);
  RC_PRE(n > 0);
  const int64_t low = a < b ? a : b;
  const int64_t high = a < b ? b : a;
  for (int i = 0; i < 20; ++i) {
    RC_ASSERT(random.Below(n) < n);
    const int64_t value = random.Between(low, high);
    RC_ASSERT(value >= low && value <= high);
  }
}

}  // namespace
}  // namespace capstan
