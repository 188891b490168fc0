#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "capstan/dataset.h"
#include "dataset/read_all_test.h"
#include "dataset/thrown_test.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Example Plus(const Example& example, std::int64_t more) {
  return Number(ValueOf(example) + more);
}

TEST(DatasetTest, Range) {
  EXPECT_THAT(ValuesOf(Dataset::Range(2, 5)), ElementsAre(2, 3, 4));
  EXPECT_THAT(ValuesOf(Dataset::Range(5, 0, -2)), ElementsAre(5, 3, 1));
  EXPECT_THAT(ValuesOf(Dataset::Range(0, 10, 4)), ElementsAre(0, 4, 8));
  EXPECT_THAT(ValuesOf(Dataset::Range(5, 2)), IsEmpty());
  EXPECT_EQ(ValuesOf(Dataset::Range(0, 2000)).at(1999), 1999);
  EXPECT_EQ(Dataset::Range(0, 10, 4).Cardinality(), 3);
  EXPECT_EQ(Dataset::Range(INT64_MIN + 1, INT64_MAX, INT64_MAX).Cardinality(),
            2);
  EXPECT_EQ(Thrown([] { Dataset::Range(0, 1, 0); }),
            "Range: the step must not be 0 (InvalidArgument)");
  EXPECT_EQ(Thrown([] { Dataset::Range(INT64_MIN, INT64_MAX); }),
            "Range: too many numbers (InvalidArgument)");
}

TEST(DatasetTest, FromTensorsGivesTheRows) {
  const Dataset dataset = Dataset::FromTensors(
      {{"x", Tensor::FromValues({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f})},
       {"y", Tensor::FromValues<std::int64_t>({2}, {5, 6})}});
  const std::vector<Example> rows = ReadAll(dataset);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1]["x"], Tensor::FromValues({2}, {3.0f, 4.0f}));
  EXPECT_EQ(rows[1]["y"], Tensor::Scalar(std::int64_t{6}));
  EXPECT_EQ(dataset.Cardinality(), 2);
}

TEST(DatasetTest, FromTensorsNeedsEquallyManyRows) {
  EXPECT_EQ(Thrown([] {
              Dataset::FromTensors({{"x", Tensor::Zeros(DType::kF32, {2})},
                                    {"y", Tensor::Zeros(DType::kF32, {3})}});
            }),
            "\"y\" has 3 rows, and \"x\" has 2: they must be equally many "
            "(InvalidArgument)");
  EXPECT_EQ(Thrown([] { Dataset::FromTensors(Number(1)); }),
            "\"value\" is a scalar and has no rows (InvalidArgument)");
}

TEST(DatasetTest, AGeneratorBeginsAnewWithEachReading) {
  std::atomic<std::int64_t> asked = 0;
  const Dataset dataset = Counted(2, asked);
  EXPECT_THAT(ValuesOf(dataset), ElementsAre(0, 1));
  EXPECT_THAT(ValuesOf(dataset), ElementsAre(0, 1));
  EXPECT_EQ(dataset.Cardinality(), std::nullopt);
}

TEST(DatasetTest, NothingIsAskedAfterTheEnd) {
  std::atomic<std::int64_t> asked = 0;
  const auto next = Counted(1, asked).Batch(2).Prefetch(2).Open();
  EXPECT_TRUE(next());
  EXPECT_FALSE(next());
  EXPECT_FALSE(next());
  EXPECT_EQ(asked, 2);
}

TEST(DatasetTest, AnIteratorReadsIt) {
  Iterator<Example> iterator(Dataset::Range(0, 2).Open());
  EXPECT_EQ(ValueOf(iterator.Next()), 0);
  EXPECT_EQ(ValueOf(iterator.Next()), 1);
  EXPECT_EQ(iterator.TryNext(), std::nullopt);
}

TEST(DatasetTest, AReadingOutlivesTheDataset) {
  std::optional<Dataset> dataset =
      Dataset::Range(0, 3).Map([](const Example& e) { return Plus(e, 1); });
  const auto next = dataset->Open();
  dataset.reset();
  EXPECT_EQ(next(), Number(1));
}

TEST(DatasetTest, Shard) {
  const Dataset dataset = Dataset::Range(0, 7);
  EXPECT_THAT(ValuesOf(dataset.Shard(3, 0)), ElementsAre(0, 3, 6));
  EXPECT_THAT(ValuesOf(dataset.Shard(3, 2)), ElementsAre(2, 5));
  EXPECT_THAT(ValuesOf(dataset.Shard(1, 0)), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(ValuesOf(dataset.Shard(9, 8)), IsEmpty());
  EXPECT_THAT(ValuesOf(dataset.Shard(
                  {.num_input_pipelines = 2, .input_pipeline_id = 1})),
              ElementsAre(1, 3, 5));
  EXPECT_EQ(dataset.Shard(3, 0).Cardinality(), 3);
  EXPECT_EQ(dataset.Shard(9, 8).Cardinality(), 0);
  EXPECT_EQ(Thrown([&] { dataset.Shard(3, 3); }),
            "Shard(3, 3): needs 0 <= i < n (InvalidArgument)");
}

TEST(DatasetTest, TakeAndSkip) {
  const Dataset dataset = Dataset::Range(0, 5);
  EXPECT_THAT(ValuesOf(dataset.Take(2)), ElementsAre(0, 1));
  EXPECT_THAT(ValuesOf(dataset.Skip(3)), ElementsAre(3, 4));
  EXPECT_THAT(ValuesOf(dataset.Skip(9)), IsEmpty());
  EXPECT_EQ(dataset.Take(9).Cardinality(), 5);
  EXPECT_EQ(dataset.Skip(9).Cardinality(), 0);
  EXPECT_EQ(Thrown([&] { dataset.Take(-1); }),
            "Take(-1): must be at least 0 (InvalidArgument)");
}

TEST(DatasetTest, TakeReadsNoMore) {
  std::atomic<std::int64_t> asked = 0;
  EXPECT_THAT(ValuesOf(Counted(9, asked).Take(2)), ElementsAre(0, 1));
  EXPECT_EQ(asked, 2);
}

TEST(DatasetTest, Repeat) {
  const Dataset dataset = Dataset::Range(0, 2);
  EXPECT_THAT(ValuesOf(dataset.Repeat(2)), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(ValuesOf(dataset.Repeat().Take(5)), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(ValuesOf(dataset.Repeat(0)), IsEmpty());
  EXPECT_THAT(ValuesOf(dataset.Take(0).Repeat()), IsEmpty());
  EXPECT_EQ(dataset.Repeat(3).Cardinality(), 6);
  EXPECT_EQ(dataset.Repeat().Cardinality(), Dataset::kInfinite);
  EXPECT_EQ(dataset.Repeat().Batch(3).Cardinality(), Dataset::kInfinite);
  EXPECT_EQ(dataset.Repeat().Take(3).Cardinality(), 3);
}

TEST(DatasetTest, MapAndFilter) {
  const Dataset dataset =
      Dataset::Range(0, 6)
          .Map([](const Example& e) { return Plus(e, 10); })
          .Filter([](const Example& e) { return ValueOf(e) % 2 == 0; });
  EXPECT_THAT(ValuesOf(dataset), ElementsAre(10, 12, 14));
  EXPECT_EQ(dataset.Cardinality(), std::nullopt);
  EXPECT_EQ(Thrown([&] { dataset.Map(nullptr); }),
            "Map: the function is empty (InvalidArgument)");
}

TEST(DatasetTest, WhatAFunctionThrowsHasItsPlace) {
  const auto next = Dataset::Range(0, 3)
                        .Map([](const Example& e) {
                          if (ValueOf(e) == 1) throw std::runtime_error("one");
                          return e;
                        })
                        .Open();
  EXPECT_EQ(next(), Number(0));
  EXPECT_THROW(next(), std::runtime_error);
  EXPECT_EQ(next(), Number(2));
  EXPECT_EQ(next(), std::nullopt);
}

TEST(DatasetTest, ABatchWaitsForWhatFollowsAnError) {
  const auto next = Dataset::Range(0, 5)
                        .Map([](const Example& e) {
                          if (ValueOf(e) == 1) throw std::runtime_error("one");
                          return e;
                        })
                        .Batch(2)
                        .Open();
  EXPECT_THROW(next(), std::runtime_error);
  EXPECT_THAT(Elements<std::int64_t>((*next())["value"]), ElementsAre(0, 2));
}

TEST(DatasetTest, Interleave) {
  const auto ten_of = [](const Example& e) {
    return Dataset::Range(10 * ValueOf(e), 10 * ValueOf(e) + 3);
  };
  const Dataset dataset = Dataset::Range(0, 3);
  EXPECT_THAT(ValuesOf(dataset.Interleave(
                  ten_of, {.cycle_length = 2, .block_length = 1})),
              ElementsAre(0, 10, 1, 11, 2, 12, 20, 21, 22));
  EXPECT_THAT(ValuesOf(dataset.Interleave(
                  ten_of, {.cycle_length = 2, .block_length = 2})),
              ElementsAre(0, 1, 10, 11, 2, 12, 20, 21, 22));
  EXPECT_THAT(ValuesOf(dataset.Interleave(
                  ten_of, {.cycle_length = 1, .block_length = 1})),
              ElementsAre(0, 1, 2, 10, 11, 12, 20, 21, 22));
}

TEST(DatasetTest, ZipMergesColumnsAndEndsWithTheShortest) {
  const Dataset a = Dataset::Range(0, 1000);
  const Dataset b = Dataset::FromTensors(
      {{"other", Tensor::FromValues<std::int64_t>({3}, {7, 8, 9})}});
  const std::vector<Example> all = ReadAll(Dataset::Zip({a, b}));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(ValueOf(all[2]), 2);
  EXPECT_EQ(ValueOf(all[2], "other"), 9);
  EXPECT_EQ(Dataset::Zip({a, b}).Cardinality(), 3);
  EXPECT_EQ(Dataset::Zip({a.Repeat(), b}).Cardinality(), 3);
}

TEST(DatasetTest, ZipRefusesANameTwice) {
  const Dataset a = Dataset::Range(0, 3);
  EXPECT_EQ(Thrown([&] {
              ReadAll(Dataset::Zip({a, a}));
            }),
            "Zip: two of the datasets have \"value\": rename one with Map "
            "(InvalidArgument)");
}

TEST(DatasetTest, Concatenate) {
  const Dataset dataset =
      Dataset::Range(0, 2).Concatenate(Dataset::Range(5, 7));
  EXPECT_THAT(ValuesOf(dataset), ElementsAre(0, 1, 5, 6));
  EXPECT_EQ(dataset.Cardinality(), 4);
}

TEST(DatasetTest, CacheReadsItsInputOnce) {
  std::atomic<std::int64_t> asked = 0;
  const Dataset dataset = Counted(3, asked).Cache();
  EXPECT_THAT(ValuesOf(dataset.Repeat(3)),
              ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2));
  EXPECT_THAT(ValuesOf(dataset), ElementsAre(0, 1, 2));
  EXPECT_EQ(asked, 4);
}

TEST(DatasetTest, CacheKeepsNothingOfAnInputThatThrows) {
  int failures = 0;
  const Dataset dataset = Dataset::Range(0, 3)
                              .Map([&](const Example& e) {
                                if (ValueOf(e) == 1 && failures++ == 0) {
                                  throw std::runtime_error("once");
                                }
                                return e;
                              })
                              .Cache();
  const auto next = dataset.Open();
  EXPECT_EQ(next(), Number(0));
  EXPECT_THROW(next(), std::runtime_error);
  EXPECT_EQ(next(), Number(2));
  EXPECT_EQ(next(), std::nullopt);
  EXPECT_THAT(ValuesOf(dataset), ElementsAre(0, 1, 2));
}

TEST(DatasetTest, ShuffleGivesEachElementOnceInAnotherOrder) {
  const Dataset dataset = Dataset::Range(0, 100).Shuffle(100, {.seed = 1});
  const auto values = ValuesOf(dataset);
  EXPECT_NE(values, ValuesOf(Dataset::Range(0, 100)));
  EXPECT_EQ(std::set(values.begin(), values.end()).size(), 100u);
  EXPECT_EQ(dataset.Cardinality(), 100);
}

TEST(DatasetTest, ShuffleIsAFunctionOfSeedAndEpoch) {
  const auto order = [](std::uint64_t seed, std::uint64_t epoch) {
    std::vector<std::int64_t> values;
    const auto next =
        Dataset::Range(0, 50).Shuffle(20, {.seed = seed}).Open(epoch);
    while (const auto e = next()) values.push_back(ValueOf(*e));
    return values;
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_NE(order(1, 0), order(2, 0));
}

TEST(DatasetTest, EachIterationReshuffles) {
  const Dataset dataset = Dataset::Range(0, 50).Shuffle(50, {.seed = 3});
  EXPECT_NE(ValuesOf(dataset), ValuesOf(dataset));
  const auto twice =
      ValuesOf(Dataset::Range(0, 50).Shuffle(50, {.seed = 3}).Repeat(2));
  ASSERT_EQ(twice.size(), 100u);
  EXPECT_NE(std::vector(twice.begin(), twice.begin() + 50),
            std::vector(twice.begin() + 50, twice.end()));
}

TEST(DatasetTest, ShuffleCanKeepItsOrder) {
  const Dataset dataset = Dataset::Range(0, 50).Shuffle(
      50, {.seed = 3, .reshuffle_each_iteration = false});
  EXPECT_EQ(ValuesOf(dataset), ValuesOf(dataset));
}

// As in tf.data: between workers and instances, and from one iterator to the
// next.
TEST(DatasetTest, WithoutASeedEveryShuffleHasOrdersOfItsOwn) {
  const auto make = [] { return Dataset::Range(0, 50).Shuffle(50); };
  const Dataset one = make();
  std::set<std::vector<std::int64_t>> orders;
  for (const Dataset& dataset : {one, one, make(), make()}) {
    orders.insert(ValuesOf(dataset));
  }
  const auto twice = ValuesOf(one.Repeat(2));
  orders.emplace(twice.begin(), twice.begin() + 50);
  orders.emplace(twice.begin() + 50, twice.end());
  EXPECT_EQ(orders.size(), 6u);
  const auto kept = [] {
    return Dataset::Range(0, 50).Shuffle(50,
                                         {.reshuffle_each_iteration = false});
  };
  const Dataset two = kept();
  EXPECT_EQ(ValuesOf(two), ValuesOf(two));
  EXPECT_NE(ValuesOf(two), ValuesOf(kept()));
}

TEST(DatasetTest, WithoutASeedAnIterationThatIsNamedIsTheSameForAll) {
  const auto order = [](std::uint64_t epoch, std::uint64_t seed) {
    std::vector<std::int64_t> values;
    // Prefetch passes the seed on.
    const auto next =
        Dataset::Range(0, 50).Shuffle(20).Prefetch(1).Open(epoch, seed);
    while (const auto e = next()) values.push_back(ValueOf(*e));
    return values;
  };
  EXPECT_EQ(order(0, 0), order(0, 0));
  EXPECT_EQ(order(1, 7), order(1, 7));
  EXPECT_NE(order(0, 7), order(1, 7));
  EXPECT_NE(order(0, 7), order(0, 8));
}

TEST(DatasetTest, ShuffleReadsItsBufferAhead) {
  std::atomic<std::int64_t> asked = 0;
  const auto next = Counted(100, asked).Shuffle(10).Open();
  next();
  EXPECT_EQ(asked, 10);
  next();
  EXPECT_EQ(asked, 11);
}

TEST(DatasetTest, AnElementIsDrawnFromTheBuffer) {
  const auto values = ValuesOf(Dataset::Range(0, 100).Shuffle(10));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_LT(values[i], static_cast<std::int64_t>(i) + 10);
  }
}

}  // namespace
}  // namespace capstan
