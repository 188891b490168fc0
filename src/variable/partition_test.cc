#include "variable/partition.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

#include "base/error.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

constexpr DType kFloat = DType::kF32;

std::vector<int64_t> Sizes(int64_t rows, int64_t shards) {
  std::vector<int64_t> sizes;
  for (const RowRange& range : SplitRows(rows, shards)) {
    sizes.push_back(range.end - range.begin);
  }
  return sizes;
}

VariableSpec Table(Shape shape) { return {.name = "table", .shape = shape}; }

// The examples of semantics.md, 71.
TEST(PartitionerTest, HasTensorFlowsArithmetic) {
  EXPECT_EQ(FixedShards(2)({10, 3}, kFloat), 2);
  EXPECT_EQ(MinSize(4, 2)({6, 1}, kFloat), 2);
  EXPECT_EQ(MinSize(4, 10)({6, 1}, kFloat), 6);
  EXPECT_EQ(MaxSize(4)({6, 1}, kFloat), 6);
  EXPECT_EQ(MaxSize(4, 2)({6, 1}, kFloat), 2);
  EXPECT_EQ(MaxSize(1024)({6, 1}, kFloat), 1);
}

TEST(PartitionerTest, FixedIsAtMostTheRows) {
  EXPECT_EQ(FixedShards(4)({3}, kFloat), 3);
  EXPECT_EQ(FixedShards(4)({0, 5}, kFloat), 1);
  EXPECT_EQ(FixedShards(4)({}, kFloat), 1);
}

TEST(PartitionerTest, MinSizeRoundsUp) {
  // 300,000 bytes: two shards, each smaller than the "minimum".
  EXPECT_EQ(MinSize(256 << 10, 8)({75'000, 1}, kFloat), 2);
  EXPECT_EQ(MinSize(256 << 10, 8)({65'536, 1}, kFloat), 1);
  EXPECT_EQ(MinSize(64 << 20, 8)({1000, 16}, kFloat), 1);
  EXPECT_EQ(MinSize()({1 << 20, 16}, kFloat), 1);  // at most one by default
  EXPECT_EQ(MinSize(1, 8)({0, 16}, kFloat), 1);
  EXPECT_EQ(MinSize(4, 100)({6, 1}, DType::kF64), 6);
  EXPECT_EQ(MinSize(4, 100)({6, 1}, DType::kF16), 3);
}

TEST(PartitionerTest, MaxSizeCutsAtRows) {
  EXPECT_EQ(MaxSize(100)({10, 6}, kFloat), 3);  // rows of 24 bytes, 4 per shard
  EXPECT_EQ(MaxSize(10)({5, 6}, kFloat), 5);    // a row is larger
  EXPECT_EQ(MaxSize(1, 3)({5, 6}, kFloat), 3);  // the maximum wins
  EXPECT_EQ(MaxSize(1)({5, 0}, kFloat), 1);     // nothing to split
  EXPECT_EQ(MaxSize(1)({0, 5}, kFloat), 1);
}

TEST(PartitionerTest, HugeShapesDoNotOverflow) {
  const Shape huge = {Shape::kMaxElements};
  EXPECT_EQ(MinSize(1, INT64_MAX)(huge, DType::kF64), Shape::kMaxElements);
  EXPECT_EQ(MaxSize(1)(huge, DType::kF64), Shape::kMaxElements);
  EXPECT_EQ(MaxSize(INT64_MAX)(huge, DType::kF64), 1);
}

TEST(PartitionerTest, ArgumentsBelowOneThrow) {
  const auto message = [](auto make) -> std::string {
    try {
      make();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return std::string(error.message());
    }
    return "nothing thrown";
  };
  EXPECT_EQ(message([] { FixedShards(0); }),
            "FixedShards: num_shards is 0; it must be at least 1");
  EXPECT_EQ(message([] { MinSize(0); }),
            "MinSize: min_shard_bytes is 0; it must be at least 1");
  EXPECT_EQ(message([] { MinSize(1, -2); }),
            "MinSize: max_shards is -2; it must be at least 1");
  EXPECT_EQ(message([] { MaxSize(0); }),
            "MaxSize: max_shard_bytes is 0; it must be at least 1");
  EXPECT_EQ(message([] { MaxSize(1, 0); }),
            "MaxSize: max_shards is 0; it must be at least 1");
}

// semantics.md, 65 and the "div" of 1.4.
TEST(SplitRowsTest, TheFirstShardsGetTheRest) {
  EXPECT_THAT(Sizes(5, 2), ElementsAre(3, 2));
  EXPECT_THAT(Sizes(6, 2), ElementsAre(3, 3));
  EXPECT_THAT(Sizes(10, 4), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(Sizes(13, 5), ElementsAre(3, 3, 3, 2, 2));
  EXPECT_THAT(Sizes(3, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(Sizes(0, 1), ElementsAre(0));
}

RC_GTEST_PROP(SplitRowsProperty, EveryRowIsInOneShard, ()) {
  const auto rows = *rc::gen::inRange<int64_t>(1, 100'000);
  const auto shards = *rc::gen::inRange<int64_t>(1, std::min(rows, 1000L) + 1);
  const std::vector<RowRange> ranges = SplitRows(rows, shards);
  RC_ASSERT(ranges.size() == static_cast<size_t>(shards));
  int64_t next = 0;
  for (const RowRange& range : ranges) {
    RC_ASSERT(range.begin == next);
    const int64_t size = range.end - range.begin;
    RC_ASSERT(size == rows / shards || size == rows / shards + 1);
    next = range.end;
  }
  RC_ASSERT(next == rows);
  // TensorFlow's routing of an index to its shard.
  const int64_t base = rows / shards;
  const int64_t extra = rows % shards;
  const auto row = *rc::gen::inRange<int64_t>(0, rows);
  const int64_t shard = row < extra
                            ? row / (base + 1)
                            : std::max(row / (base + 1), (row - extra) / base);
  const RowRange& range = ranges[static_cast<size_t>(shard)];
  RC_ASSERT(range.begin <= row && row < range.end);
}

TEST(CountShardsTest, TakesTheAnswerUpToTheRows) {
  EXPECT_THAT(CountShards(Table({10, 4}), FixedShards(4)), IsOkAndHolds(4));
  const auto seven = [](const Shape&, DType) { return int64_t{7}; };
  EXPECT_THAT(CountShards(Table({10, 4}), seven), IsOkAndHolds(7));
  EXPECT_THAT(CountShards(Table({3, 4}), seven), IsOkAndHolds(3));
  EXPECT_THAT(CountShards(Table({0, 4}), seven), IsOkAndHolds(1));
}

TEST(CountShardsTest, AsksNobodyAboutTheIndivisible) {
  const auto fail = [](const Shape&, DType) -> int64_t { throw 1; };
  EXPECT_THAT(CountShards(Table({}), fail), IsOkAndHolds(1));
  VariableSpec colocated = Table({10, 4});
  colocated.colocate_with = "other";
  EXPECT_THAT(CountShards(colocated, fail), IsOkAndHolds(1));
  VariableSpec orthogonal = Table({10, 4});
  orthogonal.initializer = Orthogonal{};
  EXPECT_THAT(CountShards(orthogonal, fail), IsOkAndHolds(1));
}

TEST(CountShardsTest, ABadPartitionerIsAnErrorByName) {
  const auto count = [](const Partitioner& partitioner) {
    return CountShards(Table({10, 4}), partitioner);
  };
  const auto refused = [](const char* why) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    AllOf(HasSubstr("variable \"table\""), HasSubstr(why)));
  };
  EXPECT_THAT(count([](const Shape&, DType) -> int64_t { return 0; }),
              refused("answered 0 shards; it must be at least 1"));
  EXPECT_THAT(count([](const Shape&, DType) -> int64_t { return INT64_MIN; }),
              refused("must be at least 1"));
  EXPECT_THAT(count([](const Shape&, DType) -> int64_t {
                throw std::runtime_error("no idea");
              }),
              refused("no idea"));
  EXPECT_THAT(count([](const Shape&, DType) -> int64_t {
                throw Error(ErrorCode::kNotFound, "lost");
              }),
              refused("lost"));
  EXPECT_THAT(count([](const Shape&, DType) -> int64_t { throw 1; }),
              refused("not a std::exception"));
  EXPECT_THAT(count(nullptr), refused("no partitioner"));
}

TEST(CountShardsTest, TooManyShardsAreRefused) {
  EXPECT_THAT(CountShards(Table({1 << 20}), FixedShards(kMaxShards)),
              IsOkAndHolds(kMaxShards));
  EXPECT_THAT(CountShards(Table({1 << 20}), FixedShards(kMaxShards + 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("65537 shards; the most is 65536")));
}

TEST(CountShardsTest, RowsOfAShardFitTheWire) {
  const int64_t rows = int64_t{UINT32_MAX} * 2 + 1;
  EXPECT_THAT(CountShards(Table({rows, 2}), FixedShards(3)), IsOkAndHolds(3));
  EXPECT_THAT(
      CountShards(Table({rows, 2}), FixedShards(2)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("use a partitioner that makes at least 3 shards")));
  VariableSpec colocated = Table({rows, 2});
  colocated.colocate_with = "other";
  EXPECT_THAT(CountShards(colocated, FixedShards(3)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("only one shard as it is colocated")));
}

}  // namespace
}  // namespace capstan
