#include "variable/shard_map.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "testing/status_matchers.h"
#include "variable/partition.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

VariableEntry Entry(uint32_t id, std::string name) {
  return {.id = id,
          .spec = {.name = std::move(name), .shape = {10, 4}},
          .shards = {{0, 5, 0}, {5, 10, 1}}};
}

absl::StatusOr<ShardMap> MakeOf(std::vector<VariableEntry> entries) {
  return ShardMap::Make(7, 3, 2, std::move(entries));
}

auto EntryRefusedFor(const std::string& why) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  AllOf(HasSubstr("variable \"w\""), HasSubstr(why)));
}

TEST(ShardMapTest, AnEmptyOneIsAllZero) {
  const ShardMap map;
  EXPECT_EQ(map.generation(), 0u);
  EXPECT_EQ(map.version(), 0u);
  EXPECT_EQ(map.servers(), 0u);
  EXPECT_TRUE(map.entries().empty());
  EXPECT_EQ(map.Find("w"), nullptr);
  EXPECT_EQ(map.Find(uint32_t{1}), nullptr);
  EXPECT_TRUE(BytesPerServer(map).empty());
}

TEST(ShardMapTest, FindsByNameAndId) {
  const ShardMap map = MakeOf({Entry(5, "w"), Entry(9, "b")}).value();
  EXPECT_EQ(map.generation(), 7u);
  EXPECT_EQ(map.version(), 3u);
  EXPECT_EQ(map.servers(), 2u);
  EXPECT_EQ(map.next_id(), 10u);
  EXPECT_EQ(map.Find("w")->id, 5u);
  EXPECT_EQ(map.Find(uint32_t{9})->spec.name, "b");
  EXPECT_EQ(map.Find("v"), nullptr);
  EXPECT_EQ(map.Find(uint32_t{0}), nullptr);
}

TEST(ShardMapTest, NamesAndIdsAreUnique) {
  EXPECT_THAT(MakeOf({Entry(1, "w"), Entry(2, "w")}),
              EntryRefusedFor("two of"));
  EXPECT_THAT(MakeOf({Entry(1, "b"), Entry(1, "w")}),
              EntryRefusedFor("another one has its id, 1"));
  EXPECT_THAT(MakeOf({Entry(UINT32_MAX, "w")}), EntryRefusedFor("the id is"));
}

TEST(ShardMapTest, ShardsAreAllRowsOnce) {
  const auto with = [](std::vector<ShardPlace> shards) {
    VariableEntry entry = Entry(1, "w");
    entry.shards = std::move(shards);
    return MakeOf({entry});
  };
  EXPECT_OK(with({{0, 10, 1}}));
  EXPECT_THAT(with({}), EntryRefusedFor("0 shards; it must have 1 to 65536"));
  EXPECT_THAT(with({{0, 9, 0}}), EntryRefusedFor("end at row 9 of 10"));
  EXPECT_THAT(with({{1, 10, 0}}), EntryRefusedFor("should begin at 0"));
  EXPECT_THAT(with({{0, 5, 0}, {6, 10, 1}}), EntryRefusedFor("begin at 5"));
  EXPECT_THAT(with({{0, 5, 0}, {4, 10, 1}}), EntryRefusedFor("begin at 5"));
  EXPECT_THAT(with({{0, 11, 0}}),
              EntryRefusedFor("should have rows, up to 10"));
  EXPECT_THAT(with({{0, 10, 0}, {10, 10, 1}}), EntryRefusedFor("have rows"));
  EXPECT_THAT(with({{0, -1, 0}}), EntryRefusedFor("should have rows"));
  EXPECT_THAT(with({{0, INT64_MIN, 0}, {INT64_MIN, 10, 1}}),
              EntryRefusedFor("should have rows"));
  EXPECT_THAT(with({{0, 10, 2}}),
              EntryRefusedFor("server 2, but the map is of 2"));
}

TEST(ShardMapTest, AShardHasAtMostSoManyRows) {
  VariableEntry entry = Entry(1, "w");
  const int64_t rows = kMaxShardRows + 1;
  entry.spec.shape = {rows, 1};
  entry.shards = {{0, rows, 0}};
  EXPECT_THAT(MakeOf({entry}), EntryRefusedFor("use more shards"));
  entry.shards = {{0, kMaxShardRows, 0}, {kMaxShardRows, rows, 1}};
  EXPECT_OK(MakeOf({entry}));
}

TEST(ShardMapTest, SomeVariablesAreInOnePiece) {
  VariableEntry orthogonal = Entry(1, "w");
  orthogonal.spec.initializer = Orthogonal{};
  EXPECT_THAT(MakeOf({orthogonal}),
              EntryRefusedFor("2 shards; it must have 1 to 1"));
  VariableEntry colocated = Entry(1, "w");
  colocated.spec.colocate_with = "b";
  EXPECT_THAT(MakeOf({colocated}),
              EntryRefusedFor("2 shards; it must have 1 to 1"));
}

TEST(ShardMapTest, ScalarsAndEmptyVariablesHaveOneShard) {
  VariableEntry entry = Entry(1, "w");
  entry.spec.shape = {};
  entry.shards = {{0, 1, 1}};
  EXPECT_OK(MakeOf({entry}));
  entry.spec.shape = {0, 4};
  EXPECT_THAT(MakeOf({entry}), EntryRefusedFor("should have rows, up to 0"));
  entry.shards = {{0, 0, 1}};
  EXPECT_OK(MakeOf({entry}));
  entry.shards = {{0, 0, 0}, {0, 0, 1}};
  EXPECT_THAT(MakeOf({entry}), EntryRefusedFor("2 shards"));
}

TEST(ShardMapTest, SpecsAreValidated) {
  VariableEntry entry = Entry(1, "w");
  entry.spec.initializer = Normal{.stddev = -1};
  EXPECT_THAT(MakeOf({entry}), EntryRefusedFor("stddev is -1"));
  EXPECT_THAT(MakeOf({Entry(1, "")}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ShardMapTest, SoManyServersAreAMistake) {
  EXPECT_OK(ShardMap::Make(0, 0, kMaxServers, {}));
  EXPECT_THAT(ShardMap::Make(0, 0, UINT32_MAX, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("4294967295 servers")));
}

TEST(ShardMapTest, BytesCountTheSlots) {
  VariableEntry adam = Entry(1, "w");
  adam.spec.optimizer = Adam{};
  EXPECT_THAT(BytesPerServer(MakeOf({adam, Entry(2, "b")}).value()),
              ElementsAre(5 * 16 * 4, 5 * 16 * 4));
  EXPECT_EQ(adam.row_bytes(), 16u);
}

TEST(DropVariablesTest, IdsAreNotUsedAgain) {
  const ShardMap map = MakeOf({Entry(5, "w"), Entry(9, "b")}).value();
  const std::vector<std::string> names = {"b", "b"};
  const ShardMap less = DropVariables(map, names).value();
  EXPECT_EQ(less.version(), 4u);
  EXPECT_EQ(less.generation(), 7u);
  EXPECT_EQ(less.entries().size(), 1u);
  EXPECT_EQ(less.Find("b"), nullptr);
  EXPECT_EQ(less.Find(uint32_t{9}), nullptr);
  EXPECT_EQ(less.next_id(), 10u);
  const ShardMap more =
      AddVariables(less, {{.name = "b", .shape = {3}}}, FixedShards(1)).value();
  EXPECT_EQ(more.Find("b")->id, 10u);
}

TEST(DropVariablesTest, WhatIsNotThereIsNotFound) {
  const ShardMap map = MakeOf({Entry(5, "w")}).value();
  const std::vector<std::string> names = {"w", "x"};
  EXPECT_THAT(DropVariables(map, names), StatusIs(absl::StatusCode::kNotFound,
                                                  HasSubstr("variable \"x\"")));
}

RC_GTEST_PROP(ShardMapProperty, EveryRowIsInItsShard, ()) {
  VariableEntry entry;
  const auto rows = *rc::gen::inRange<int64_t>(1, 500);
  const auto shards = *rc::gen::inRange<int64_t>(1, rows + 1);
  for (const RowRange& range : SplitRows(rows, shards)) {
    entry.shards.push_back({range.begin, range.end, 0});
  }
  for (int64_t row = 0; row < rows; ++row) {
    const ShardPlace& shard = entry.shards[entry.ShardOf(row)];
    RC_ASSERT(shard.begin <= row && row < shard.end);
  }
}

}  // namespace
}  // namespace capstan
