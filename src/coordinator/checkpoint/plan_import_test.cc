#include "coordinator/checkpoint/plan_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

ShardMap MapOf(const std::vector<VariableSpec>& specs, uint32_t servers,
               int shards) {
  const absl::StatusOr<ShardMap> empty =
      ShardMap::Make(1, 0, servers, std::vector<VariableEntry>());
  EXPECT_OK(empty);
  const absl::StatusOr<ShardMap> map =
      AddVariables(*empty, specs, FixedShards(shards));
  EXPECT_OK(map);
  return *map;
}

TEST(PlanImportTest, EachShardGetsItsRows) {
  const ShardMap map = MapOf({{.name = "m/w", .shape = {10, 3}}}, 2, 3);
  const auto plan =
      PlanImport({{"w", DType::kF64, {10, 3}}}, map, {.prefix = "m/"}, nullptr);
  ASSERT_OK(plan);
  const VariableEntry& entry = map.entries()[0];
  ASSERT_EQ(plan->restore.copies.size(), entry.shards.size());
  for (uint32_t i = 0; i < entry.shards.size(); ++i) {
    const ShardPlace& place = entry.shards[i];
    const RestoreCopy& copy = plan->restore.copies[i];
    EXPECT_EQ(copy.server, place.server);
    EXPECT_EQ(copy.row_bytes, 12u);
    const StageCopy expected = {
        .tensor = "w",
        .key = {.variable = entry.id, .shard = i},
        .source_row = static_cast<uint64_t>(place.begin),
        .rows = static_cast<uint64_t>(place.end - place.begin)};
    EXPECT_EQ(copy.copy, expected);
  }
  size_t commits = 0;
  for (const auto& shards : plan->restore.commits) {
    for (const StageShard& shard : shards) EXPECT_FALSE(shard.slots);
    commits += shards.size();
  }
  EXPECT_EQ(commits, entry.shards.size());
  ASSERT_TRUE(plan->conversions.contains("w"));
  EXPECT_EQ(plan->conversions.at("w").from, DType::kF64);
  EXPECT_EQ(plan->conversions.at("w").to, DType::kF32);
}

TEST(PlanImportTest, WithoutRowsThereIsNothingToCopy) {
  const ShardMap map = MapOf({{.name = "w", .shape = {0, 3}}}, 1, 1);
  const auto plan = PlanImport({{"w", DType::kF32, {0, 3}}}, map, {}, nullptr);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->restore.copies, IsEmpty());
  EXPECT_EQ(plan->restore.commits[0].size(), 1u);
  EXPECT_THAT(plan->conversions, IsEmpty());
}

TEST(PlanImportTest, OnlyVariablesWithThePrefixAreMissing) {
  const ShardMap map =
      MapOf({{.name = "a/w", .shape = {}}, {.name = "b/w", .shape = {}}}, 1, 1);
  const std::vector<FileTensor> file = {{"w", DType::kF32, {}},
                                        {"w.momentum", DType::kF32, {}}};
  const auto plan = PlanImport(file, map, {.prefix = "a/"}, nullptr);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->restore.report.restored, ElementsAre("a/w"));
  EXPECT_THAT(plan->restore.report.unexpected, ElementsAre("a/w.momentum"));
  EXPECT_THAT(PlanImport(file, map, {}, nullptr),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the file has no variable 'a/w', 'b/w'")));
}

TEST(PlanImportTest, WhatCannotBeReadMattersOnlyIfItIsWanted) {
  const ShardMap map =
      MapOf({{.name = "w", .shape = {3}}, {.name = "u", .shape = {3}}}, 1, 1);
  const std::vector<FileTensor> tensors = {
      {"w", DType::kF32, {3}},
      {"u", DType::kF32, {3}, "dtype \"U16\" is not supported"}};
  const auto plan = PlanImport(tensors, map, {.only = {"w"}}, nullptr);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->restore.report.restored, ElementsAre("w"));
  EXPECT_THAT(PlanImport(tensors, map, {}, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "variable 'u': dtype \"U16\" is not supported"));
}

}  // namespace
}  // namespace capstan
