#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "capstan/dataset.h"
#include "dataset/read_all_test.h"
#include "dataset/thrown_test.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> ValuesOf(const ExampleTable& table,
                                   std::uint64_t epoch = 0) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    values.push_back(ValueOf(table.At(i, epoch)));
  }
  return values;
}

TEST(ExampleTableTest, GivesElementsByNumber) {
  const ExampleTable table = ExampleTable::Open(Dataset::Range(10, 20));
  EXPECT_EQ(table.size(), 10);
  EXPECT_EQ(ValueOf(table.At(7)), 17);
  EXPECT_EQ(Thrown([&] { table.At(10); }),
            "element 10 of a dataset of 10 (OutOfRange)");
  EXPECT_EQ(Thrown([&] { table.At(-1); }),
            "element -1 of a dataset of 10 (OutOfRange)");
}

TEST(ExampleTableTest, OutlivesTheDataset) {
  const ExampleTable table = ExampleTable::Open(Dataset::Range(0, 3).Map(
      [](const Example& e) { return Number(ValueOf(e) + 1); }));
  EXPECT_THAT(ValuesOf(table), ElementsAre(1, 2, 3));
}

TEST(ExampleTableTest, EveryEpochHasEachElementOnceInAnOrderOfItsOwn) {
  const ExampleTable table =
      ExampleTable::Open(Dataset::Range(0, 100).Shuffle(5, {.seed = 7}));
  std::set<std::vector<std::int64_t>> orders;
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    const auto values = ValuesOf(table, epoch);
    EXPECT_EQ(std::set(values.begin(), values.end()).size(), 100u);
    EXPECT_EQ(values, ValuesOf(table, epoch));
    orders.insert(values);
  }
  EXPECT_EQ(orders.size(), 4u);
}

TEST(ExampleTableTest, WithoutASeedTheOrderIsThatOfTheOneGiven) {
  const auto open = [] {
    return ExampleTable::Open(Dataset::Range(0, 100).Shuffle(5).Map(
        [](const Example& e) { return e; }));
  };
  const auto at = [](const ExampleTable& table, std::uint64_t epoch,
                     std::uint64_t seed) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < table.size(); ++i) {
      values.push_back(ValueOf(table.At(i, epoch, seed)));
    }
    return values;
  };
  EXPECT_EQ(at(open(), 1, 7), at(open(), 1, 7));
  EXPECT_EQ(ValuesOf(open()), ValuesOf(open()));
  EXPECT_NE(at(open(), 1, 7), at(open(), 2, 7));
  EXPECT_NE(at(open(), 1, 7), at(open(), 1, 8));
  const auto values = at(open(), 1, 7);
  EXPECT_EQ(std::set(values.begin(), values.end()).size(), 100u);
}

TEST(ExampleTableTest, DescribesWhatItsNumbersStandFor) {
  const auto described = [](const Dataset& dataset) {
    return ExampleTable::Open(dataset).Describe();
  };
  const Dataset rows = Dataset::Range(0, 100);
  EXPECT_EQ(described(rows.Shuffle(9, {.seed = 7}).Batch(8).Prefetch(2)),
            "Rows(100).Shuffle(seed 7).Batch(8)");
  EXPECT_EQ(described(rows.Shuffle(9).Batch(8, {.drop_remainder = true})),
            "Rows(100).Shuffle().Batch(8, drop_remainder)");
  EXPECT_EQ(described(rows.Skip(5).Take(90).Shard(3, 1).Repeat(2).Cache()),
            "Rows(100).Skip(5).Take(90).Shard(3, 1).Repeat(2).Cache()");
  EXPECT_EQ(described(Dataset::Zip(
                          {rows, rows.Map([](const Example&) {
                             return Example({{"other", Tensor::Scalar(1.0f)}});
                           })})
                          .Concatenate(rows.Take(0))),
            "Zip({Rows(100), Rows(100)}).Concatenate(Rows(100).Take(0))");
}

TEST(ExampleTableTest, ShuffleCanKeepItsOrder) {
  const ExampleTable table = ExampleTable::Open(Dataset::Range(0, 100).Shuffle(
      5, {.seed = 7, .reshuffle_each_iteration = false}));
  EXPECT_EQ(ValuesOf(table, 0), ValuesOf(table, 3));
}

TEST(ExampleTableTest, RepeatedShufflesDiffer) {
  const ExampleTable table =
      ExampleTable::Open(Dataset::Range(0, 50).Shuffle(50).Repeat(2));
  const auto values = ValuesOf(table);
  ASSERT_EQ(values.size(), 100u);
  EXPECT_NE(std::vector(values.begin(), values.begin() + 50),
            std::vector(values.begin() + 50, values.end()));
}

TEST(ExampleTableTest, BatchesOfAShuffleHaveEachElementOnce) {
  const ExampleTable table =
      ExampleTable::Open(Dataset::Range(0, 10).Shuffle(10).Batch(4));
  ASSERT_EQ(table.size(), 3);
  std::multiset<std::int64_t> seen;
  for (int i = 0; i < 3; ++i) {
    for (const std::int64_t value :
         Elements<std::int64_t>(table.At(i, 5)["value"])) {
      seen.insert(value);
    }
  }
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(ExampleTableTest, CacheReadsEachElementOnce) {
  std::atomic<int> calls = 0;
  const ExampleTable table = ExampleTable::Open(Dataset::Range(0, 10)
                                                    .Map([&](const Example& e) {
                                                      ++calls;
                                                      return e;
                                                    })
                                                    .Cache());
  EXPECT_EQ(ValuesOf(table), ValuesOf(table, 1));
  EXPECT_EQ(calls, 10);
}

TEST(ExampleTableTest, SaysWhatStandsInTheWay) {
  const Dataset dataset = Dataset::Range(0, 10);
  EXPECT_EQ(
      Thrown([&] {
        ExampleTable::Open(
            dataset.Filter([](const Example&) { return true; }).Batch(2));
      }),
      "Filter cannot be read by number: which elements it keeps is known when "
      "all are read; leave it out, or give steps_per_epoch and read the "
      "dataset in order (FailedPrecondition)");
  EXPECT_THAT(Thrown([&] {
                ExampleTable::Open(dataset.Interleave(
                    [](const Example&) { return Dataset::Range(0, 1); }));
              }),
              HasSubstr("Interleave cannot be read by number"));
  EXPECT_THAT(Thrown([&] { ExampleTable::Open(dataset.Repeat().Take(3)); }),
              HasSubstr("Repeat without a count cannot be read by number"));
  EXPECT_THAT(Thrown([&] {
                ExampleTable::Open(Dataset::FromGenerator(
                    [] { return [] { return std::optional<Example>(); }; }));
              }),
              HasSubstr("FromGenerator cannot be read by number"));
}

TEST(ExampleTableTest, ThreadsMayShareIt) {
  const ExampleTable table = ExampleTable::Open(
      Dataset::Range(0, 300).Cache().Shuffle(300).Batch(7).Prefetch(1));
  std::vector<Example> expected;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    expected.push_back(table.At(i, 1));
  }
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::int64_t i = 0; i < table.size(); ++i) {
        EXPECT_EQ(table.At(i, 1), expected.at(static_cast<std::size_t>(i)));
      }
    });
  }
}

TEST(LazyTableTest, FailsOnlyWhenItIsUsed) {
  const LazyTable good(Dataset::Range(0, 3));
  EXPECT_EQ(good.Get().size(), 3);
  const LazyTable bad(Dataset::Range(0, 3).Repeat());
  EXPECT_THAT(Thrown([&] { bad.Get(); }), HasSubstr("FailedPrecondition"));
  EXPECT_THAT(Thrown([&] { bad.Get(); }), HasSubstr("FailedPrecondition"));
}

}  // namespace
}  // namespace capstan
