#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "testing/status_matchers.h"
#include "variable/shard_map.h"

namespace capstan {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

ShardMap MapOf(uint32_t servers, std::vector<VariableSpec> specs,
               int64_t shards) {
  const ShardMap empty = ShardMap::Make(1, 0, servers, {}).value();
  return AddVariables(empty, std::move(specs), FixedShards(shards)).value();
}

std::vector<uint32_t> ServersOf(const ShardMap& map, std::string_view name) {
  std::vector<uint32_t> servers;
  for (const ShardPlace& shard : map.Find(name)->shards) {
    servers.push_back(shard.server);
  }
  return servers;
}

TEST(PlaceAnewTest, TheOthersTakeOverTheShardsOfOneThatIsLeftOut) {
  const ShardMap map =
      MapOf(3, {{.name = "w", .shape = {9}}, {.name = "x", .shape = {6}}}, 3);
  const absl::StatusOr<ShardMap> next = PlaceAnew(map, 5, {1});
  ASSERT_OK(next.status());
  EXPECT_EQ(next->generation(), 5u);
  EXPECT_EQ(next->version(), 1u);
  EXPECT_EQ(next->servers(), 3u);
  EXPECT_EQ(next->num_serving(), 2u);
  EXPECT_THAT(next->left_out(), ElementsAre(1));
  EXPECT_FALSE(next->Serves(1));
  EXPECT_TRUE(next->Serves(2));
  EXPECT_EQ(next->next_id(), map.next_id());
  for (const VariableEntry& entry : map.entries()) {
    const VariableEntry& now = *next->Find(entry.spec.name);
    EXPECT_EQ(now.id, entry.id);
    ASSERT_EQ(now.shards.size(), entry.shards.size());
    for (size_t i = 0; i < now.shards.size(); ++i) {
      EXPECT_EQ(now.shards[i].begin, entry.shards[i].begin);
      EXPECT_EQ(now.shards[i].end, entry.shards[i].end);
      EXPECT_NE(now.shards[i].server, 1u);
    }
  }
  EXPECT_EQ(BytesPerServer(*next)[1], 0u);
}

TEST(PlaceAnewTest, NothingMovesWhileTheServersAreTheSame) {
  const ShardMap map = MapOf(3, {{.name = "w", .shape = {9}}}, 3);
  const ShardMap same = PlaceAnew(map, 2, {}).value();
  EXPECT_EQ(ServersOf(same, "w"), ServersOf(map, "w"));
  const ShardMap fewer = PlaceAnew(map, 3, {0}).value();
  const ShardMap again = PlaceAnew(fewer, 4, {0}).value();
  EXPECT_EQ(ServersOf(again, "w"), ServersOf(fewer, "w"));
}

TEST(PlaceAnewTest, OneThatIsBackHasItsPartAgain) {
  const ShardMap map = MapOf(2, {{.name = "w", .shape = {8}}}, 2);
  const ShardMap fewer = PlaceAnew(map, 2, {1}).value();
  EXPECT_THAT(ServersOf(fewer, "w"), Each(0u));
  const ShardMap back = PlaceAnew(fewer, 3, {}).value();
  EXPECT_EQ(ServersOf(back, "w"), ServersOf(map, "w"));
}

TEST(PlaceAnewTest, ColocatedVariablesStayTogether) {
  VariableSpec beside = {.name = "a", .shape = {4}};
  beside.colocate_with = "z";
  const ShardMap map = MapOf(
      3, {beside, {.name = "z", .shape = {30}}, {.name = "m", .shape = {2}}},
      1);
  for (uint32_t server = 0; server < 3; ++server) {
    const ShardMap next = PlaceAnew(map, 2, {server}).value();
    EXPECT_EQ(ServersOf(next, "a"), ServersOf(next, "z"));
  }
}

TEST(PlaceAnewTest, OneWhoseOtherWasDroppedIsPlacedByItself) {
  VariableSpec beside = {.name = "a", .shape = {4}};
  beside.colocate_with = "z";
  const ShardMap map = MapOf(2, {beside, {.name = "z", .shape = {30}}}, 1);
  const std::vector<std::string> dropped = {"z"};
  const ShardMap without = DropVariables(map, dropped).value();
  const uint32_t there = ServersOf(without, "a")[0];
  const absl::StatusOr<ShardMap> next = PlaceAnew(without, 2, {there});
  ASSERT_OK(next.status());
  EXPECT_NE(ServersOf(*next, "a")[0], there);
}

TEST(PlaceAnewTest, WhatIsAddedLaterGoesToTheOthersToo) {
  const ShardMap map = MapOf(3, {{.name = "w", .shape = {9}}}, 3);
  const ShardMap fewer = PlaceAnew(map, 2, {0, 2}).value();
  const ShardMap more =
      AddVariables(fewer, {{.name = "x", .shape = {9}}}, FixedShards(3))
          .value();
  EXPECT_THAT(ServersOf(more, "x"), Each(1u));
  const std::vector<std::string> dropped = {"w"};
  EXPECT_THAT(DropVariables(more, dropped)->left_out(), ElementsAre(0, 2));
}

TEST(PlaceAnewTest, OneServerMustBeLeft) {
  const ShardMap map = MapOf(2, {{.name = "w", .shape = {9}}}, 2);
  EXPECT_THAT(PlaceAnew(map, 2, {0, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("all 2 servers are left out")));
  EXPECT_THAT(PlaceAnew(map, 2, {2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("server 2 is left out of a map of 2")));
  EXPECT_THAT(PlaceAnew(map, 2, {1, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PlaceAnewTest, AShardOnALeftOutServerIsRefused) {
  const VariableEntry entry = {
      .id = 1, .spec = {.name = "w", .shape = {4}}, .shards = {{0, 4, 1}}};
  EXPECT_THAT(ShardMap::Make(1, 1, 2, {entry}, 1, {1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("on server 1, which is left out")));
}

// Graham's bound, as for AddVariables: see place.h.
RC_GTEST_PROP(PlaceAnewTest, TheOthersShareTheLoad, ()) {
  const auto servers = *rc::gen::inRange<uint32_t>(2, 8);
  const auto gone = *rc::gen::inRange<uint32_t>(0, servers);
  const auto rows = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<int64_t>>(rc::gen::inRange(1, 1000)));
  std::vector<VariableSpec> specs;
  for (size_t i = 0; i < rows.size(); ++i) {
    specs.push_back({.name = absl::StrCat("v", i), .shape = {rows[i]}});
  }
  const ShardMap map = MapOf(servers, specs, servers);
  const ShardMap next = PlaceAnew(map, 2, {gone}).value();
  uint64_t largest = 0;
  for (const VariableEntry& entry : next.entries()) {
    for (const ShardPlace& shard : entry.shards) {
      largest =
          std::max(largest, static_cast<uint64_t>(shard.end - shard.begin) *
                                sizeof(float));
    }
  }
  std::vector<uint64_t> bytes = BytesPerServer(next);
  RC_ASSERT(bytes[gone] == 0u);
  bytes.erase(bytes.begin() + gone);
  const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  RC_ASSERT(*most - *least <= largest);
}

}  // namespace
}  // namespace capstan
