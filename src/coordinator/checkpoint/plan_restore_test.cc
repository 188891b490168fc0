#include "coordinator/checkpoint/plan_restore.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

VariableSpec Spec(const std::string& name, const Shape& shape,
                  const Optimizer& optimizer = Adam{}) {
  return {.name = name, .shape = shape, .optimizer = optimizer};
}

ShardMap MapOf(const std::vector<VariableSpec>& specs, uint32_t servers,
               const Partitioner& partitioner = FixedShards(1)) {
  const absl::StatusOr<ShardMap> empty =
      ShardMap::Make(1, 0, servers, std::vector<VariableEntry>());
  EXPECT_OK(empty);
  const absl::StatusOr<ShardMap> map = AddVariables(*empty, specs, partitioner);
  EXPECT_OK(map);
  return *map;
}

// What servers with this map answer. Shard i has had `updates` + i updates.
std::vector<SnapshotReply> SnapshotOf(const ShardMap& map, uint64_t updates) {
  std::vector<SnapshotReply> replies(map.servers());
  for (const VariableEntry& entry : map.entries()) {
    for (uint32_t i = 0; i < entry.shards.size(); ++i) {
      SnapshotShard shard;
      shard.key = {.variable = entry.id, .shard = i};
      shard.updates = updates + i;
      replies[entry.shards[i].server].shards.push_back(shard);
    }
  }
  return replies;
}

Manifest ManifestOf(const ShardMap& map, uint64_t updates = 0) {
  Manifest manifest;
  manifest.step = 77;
  manifest.records = {{"a", "b"}};
  for (uint32_t i = 0; i < map.servers(); ++i) {
    SavedFile file;
    file.name = ServerFileName(i);
    manifest.files.push_back(std::move(file));
  }
  const absl::StatusOr<std::vector<SavedVariable>> variables =
      SavedVariablesOf(map, SnapshotOf(map, updates));
  EXPECT_OK(variables);
  manifest.variables = *variables;
  return manifest;
}

absl::StatusOr<RestorePlan> Plan(const Manifest& manifest, const ShardMap& map,
                                 const RestoreOptions& options = {}) {
  return PlanRestore(manifest, map, options, nullptr);
}

TEST(PlanRestoreTest, TheReportSaysWhatIsRestoredAndWhatIsNot) {
  const ShardMap saved =
      MapOf({Spec("b", {4}), Spec("a", {4}), Spec("old", {2})}, 1);
  const ShardMap now =
      MapOf({Spec("b", {4}), Spec("a", {4}), Spec("new", {2})}, 1);
  const absl::StatusOr<RestorePlan> plan =
      Plan(ManifestOf(saved), now, {.allow_missing = true});
  ASSERT_OK(plan);
  EXPECT_THAT(plan->report.restored, ElementsAre("a", "b"));
  EXPECT_THAT(plan->report.missing, ElementsAre("new"));
  EXPECT_THAT(plan->report.unexpected, ElementsAre("old"));
  EXPECT_THAT(plan->report.without_slots, IsEmpty());
  EXPECT_EQ(plan->report.step, 77u);
  EXPECT_EQ(plan->report.records.at("a"), "b");
  // Nothing of the variable that is missing.
  ASSERT_EQ(plan->commits.size(), 1u);
  EXPECT_EQ(plan->commits[0].size(), 2u);
}

TEST(PlanRestoreTest, AMissingOneIsAnErrorUnlessAllowed) {
  const Manifest manifest = ManifestOf(MapOf({Spec("old", {2})}, 1));
  const ShardMap now = MapOf({Spec("new", {2})}, 1);
  EXPECT_THAT(
      Plan(manifest, now),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("no variable 'new'"), HasSubstr("but 'old'"),
                     HasSubstr("set allow_missing"))));
}

TEST(PlanRestoreTest, OnlyThoseThatAreLikeAPatternAreLookedAt) {
  const Manifest manifest = ManifestOf(
      MapOf({Spec("a/w", {2}), Spec("a/b", {2}), Spec("c/w", {2})}, 1));
  const ShardMap now =
      MapOf({Spec("a/w", {2}), Spec("a/x", {2}), Spec("c/w", {9})}, 1);
  const absl::StatusOr<RestorePlan> plan =
      Plan(manifest, now, {.only = {"a/w", "a/b"}});
  ASSERT_OK(plan);
  EXPECT_THAT(plan->report.restored, ElementsAre("a/w"));
  EXPECT_THAT(plan->report.missing, IsEmpty());
  EXPECT_THAT(plan->report.unexpected, ElementsAre("a/b"));
  EXPECT_THAT(
      Plan(manifest, now, {.only = {"*/w"}}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("'c/w'")));
  EXPECT_THAT(
      Plan(manifest, now, {.only = {"a/*"}}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("'a/x'")));
}

TEST(PlanRestoreTest, APatternThatIsLikeNothingIsNamed) {
  const Manifest manifest = ManifestOf(MapOf({Spec("a/w", {2})}, 1));
  const ShardMap now = MapOf({Spec("b/w", {2})}, 1);
  EXPECT_THAT(
      Plan(manifest, now,
           {.only = {"b/*", "decoder/*"}, .allow_missing = true}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'decoder/*'")));
  // A pattern that matches a variable of either side is not one of those.
  EXPECT_OK(
      Plan(manifest, now, {.only = {"a/*", "b/*"}, .allow_missing = true}));
  // Nor is one that matches none of the variables that were just created.
  const std::set<std::string> names = {"b/w"};
  EXPECT_OK(PlanRestore(
      manifest, now, {.only = {"decoder/*"}, .allow_missing = true}, &names));
}

TEST(PlanRestoreTest, NamesBoundThePatterns) {
  const ShardMap map = MapOf({Spec("a", {2}), Spec("b", {2})}, 1);
  const std::set<std::string> names = {"b"};
  const absl::StatusOr<RestorePlan> plan =
      PlanRestore(ManifestOf(map), map, {}, &names);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->report.restored, ElementsAre("b"));
  EXPECT_THAT(plan->report.unexpected, IsEmpty());
}

TEST(PlanRestoreTest, AnotherShapeOrDtypeIsAnErrorThatNamesAll) {
  const Manifest manifest =
      ManifestOf(MapOf({Spec("a", {2, 3}), Spec("b", {2})}, 1));
  VariableSpec other = Spec("b", {2});
  other.dtype = DType::kF64;
  other.optimizer = std::nullopt;
  const ShardMap now = MapOf({Spec("a", {3, 2}), other}, 1);
  // Not even if missing variables are allowed.
  EXPECT_THAT(
      Plan(manifest, now, {.allow_missing = true}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("'a' is"), HasSubstr("'b' is"),
                     HasSubstr("in the checkpoint"), HasSubstr("in the job"))));
}

TEST(PlanRestoreTest, AnotherOptimizerBeginsAnew) {
  const Manifest manifest =
      ManifestOf(MapOf({Spec("a", {4}, Adam{}), Spec("b", {4}, Momentum{}),
                        Spec("c", {4}, Adam{})},
                       1),
                 5);
  const ShardMap now = MapOf({Spec("a", {4}, Momentum{}),
                              Spec("b", {4}, Momentum{.learning_rate = 0.5}),
                              Spec("c", {4}, Adam{.amsgrad = true})},
                             1);
  const absl::StatusOr<RestorePlan> plan = Plan(manifest, now);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->report.restored, ElementsAre("a", "b", "c"));
  // "a" has another rule; "c" has the same rule with other slots.
  EXPECT_THAT(plan->report.without_slots, ElementsAre("a", "c"));
  ASSERT_EQ(plan->commits[0].size(), 3u);
  for (const StageShard& shard : plan->commits[0]) {
    const bool with = shard.key.variable == now.Find("b")->id;
    EXPECT_EQ(shard.slots, with);
    EXPECT_EQ(shard.updates, with ? 5u : 0u);
  }
  for (const RestoreCopy& copy : plan->copies) {
    EXPECT_TRUE(copy.copy.slot == 0 ||
                copy.copy.key.variable == now.Find("b")->id);
  }
}

TEST(PlanRestoreTest, SlotsAreLeftOutIfTheyAreNotWanted) {
  const ShardMap map = MapOf({Spec("a", {4})}, 1);
  const absl::StatusOr<RestorePlan> plan =
      Plan(ManifestOf(map, 5), map, {.slots = false});
  ASSERT_OK(plan);
  EXPECT_THAT(plan->report.without_slots, IsEmpty());
  EXPECT_EQ(plan->copies.size(), 1u);
  EXPECT_EQ(plan->commits[0][0], (StageShard{.key = plan->copies[0].copy.key}));
}

TEST(PlanRestoreTest, AVariableWithoutRowsHasAStateAllTheSame) {
  const ShardMap map = MapOf({Spec("a", {0, 3})}, 2, FixedShards(2));
  const absl::StatusOr<RestorePlan> plan = Plan(ManifestOf(map, 5), map);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->copies, IsEmpty());
  std::vector<StageShard> all;
  for (const std::vector<StageShard>& shards : plan->commits) {
    all.insert(all.end(), shards.begin(), shards.end());
  }
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].updates, 5u);
}

TEST(SavedVariablesTest, OneWithoutValuesIsLeftOutButNotHalfOfOne) {
  const ShardMap map =
      MapOf({Spec("a", {4}), Spec("b", {4})}, 2, FixedShards(2));
  std::vector<SnapshotReply> replies = SnapshotOf(map, 0);
  const uint32_t b = map.Find("b")->id;
  for (SnapshotReply& reply : replies) {
    std::erase_if(reply.shards,
                  [&](const auto& shard) { return shard.key.variable == b; });
  }
  const absl::StatusOr<std::vector<SavedVariable>> saved =
      SavedVariablesOf(map, replies);
  ASSERT_OK(saved);
  ASSERT_EQ(saved->size(), 1u);
  EXPECT_EQ((*saved)[0].name, "a");
  replies = SnapshotOf(map, 0);
  std::erase_if(replies[0].shards,
                [&](const auto& shard) { return shard.key.variable == b; });
  EXPECT_THAT(SavedVariablesOf(map, replies),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("'b'"), HasSubstr("1 of its 2"))));
}

// Each row of each tensor of each shard is copied once, from the same row of
// the variable in the file and tensor that has it; nothing else is copied.
RC_GTEST_PROP(PlanRestoreTest, EveryRowIsCopiedOnce, ()) {
  const auto rows = *rc::gen::inRange<int64_t>(0, 60);
  const std::vector<VariableSpec> specs = {
      Spec("dense", {rows, 3}), Spec("scalar", {}, Momentum{}),
      Spec("other", {*rc::gen::inRange<int64_t>(0, 9)}, Sgd{})};
  const auto cut = [] { return FixedShards(*rc::gen::inRange(1, 9)); };
  const ShardMap before =
      MapOf(specs, *rc::gen::inRange<uint32_t>(1, 6), cut());
  const ShardMap now = MapOf(specs, *rc::gen::inRange<uint32_t>(1, 6), cut());
  const Manifest manifest = ManifestOf(before);
  const absl::StatusOr<RestorePlan> plan = Plan(manifest, now);
  RC_ASSERT(plan.ok());
  // How often each row was copied, by variable, shard, slot and row.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint64_t>, int> times;
  size_t file = 0;
  for (const RestoreCopy& copy : plan->copies) {
    RC_ASSERT(copy.file >= file);
    file = copy.file;
    const StageCopy& rows_of = copy.copy;
    const VariableEntry& entry = *now.Find(rows_of.key.variable);
    const ShardPlace& place = entry.shards[rows_of.key.shard];
    RC_ASSERT(copy.server == place.server);
    RC_ASSERT(copy.row_bytes == entry.row_bytes());
    const VariableEntry& source = *before.Find(entry.spec.name);
    bool found = false;
    for (const ShardPlace& from : source.shards) {
      const std::string name =
          ShardTensorName(entry.spec.name, from.begin, from.end);
      // The name of a slot's tensor is longer.
      if (!rows_of.tensor.starts_with(name)) continue;
      if ((rows_of.slot == 0) != (rows_of.tensor == name)) continue;
      found = true;
      RC_ASSERT(manifest.files[copy.file].name == ServerFileName(from.server));
      RC_ASSERT(from.begin + static_cast<int64_t>(rows_of.source_row) ==
                place.begin + static_cast<int64_t>(rows_of.target_row));
      RC_ASSERT(static_cast<int64_t>(rows_of.source_row + rows_of.rows) <=
                from.end - from.begin);
    }
    RC_ASSERT(found);
    for (uint64_t i = 0; i < rows_of.rows; ++i) {
      ++times[{rows_of.key.variable, rows_of.key.shard, rows_of.slot,
               rows_of.target_row + i}];
    }
  }
  size_t expected = 0;
  size_t shards = 0;
  for (const VariableEntry& entry : now.entries()) {
    const size_t slots = entry.spec.name == "dense"    ? 2
                         : entry.spec.name == "scalar" ? 1
                                                       : 0;
    shards += entry.shards.size();
    for (const ShardPlace& place : entry.shards) {
      expected += static_cast<size_t>(place.end - place.begin) * (1 + slots);
    }
  }
  RC_ASSERT(times.size() == expected);
  for (const auto& [row, count] : times) RC_ASSERT(count == 1);
  // And each shard is committed once, by its server, in order.
  size_t committed = 0;
  for (uint32_t i = 0; i < now.servers(); ++i) {
    const ShardKey* last = nullptr;
    for (const StageShard& shard : plan->commits[i]) {
      // RC_ASSERT evaluates both sides of an "or".
      const bool ascends = last == nullptr || *last < shard.key;
      RC_ASSERT(ascends);
      last = &shard.key;
      const VariableEntry& entry = *now.Find(shard.key.variable);
      RC_ASSERT(entry.shards[shard.key.shard].server == i);
      ++committed;
    }
  }
  RC_ASSERT(committed == shards);
}

}  // namespace
}  // namespace capstan
