#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "testing/status_matchers.h"
#include "variable/shard_map.h"
#include "variable/stored_bytes.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

ShardMap Empty(uint32_t servers) {
  return ShardMap::Make(1, 0, servers, {}).value();
}

VariableSpec Spec(std::string name, Shape shape = {4}) {
  return {.name = std::move(name), .shape = shape};
}

VariableSpec Beside(std::string name, std::string other, Shape shape = {4}) {
  VariableSpec spec = Spec(std::move(name), shape);
  spec.colocate_with = std::move(other);
  return spec;
}

uint32_t ServerOf(const ShardMap& map, std::string_view name) {
  return map.Find(name)->shards[0].server;
}

std::vector<int64_t> RowsOf(const ShardMap& map, std::string_view name) {
  std::vector<int64_t> rows;
  for (const ShardPlace& shard : map.Find(name)->shards) {
    rows.push_back(shard.end - shard.begin);
  }
  return rows;
}

double MaxOverMean(const std::vector<uint64_t>& bytes) {
  const double total = static_cast<double>(
      std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}));
  const double most =
      static_cast<double>(*std::max_element(bytes.begin(), bytes.end()));
  return most * static_cast<double>(bytes.size()) / total;
}

// semantics.md, 62: variables of equal size are placed round robin.
TEST(AddVariablesTest, EqualVariablesGoAround) {
  const ShardMap map =
      AddVariables(Empty(3), {Spec("a"), Spec("b"), Spec("c"), Spec("d")},
                   FixedShards(1))
          .value();
  EXPECT_EQ(ServerOf(map, "a"), 0u);
  EXPECT_EQ(ServerOf(map, "b"), 1u);
  EXPECT_EQ(ServerOf(map, "c"), 2u);
  EXPECT_EQ(ServerOf(map, "d"), 0u);
  EXPECT_EQ(map.version(), 1u);
  EXPECT_EQ(map.generation(), 1u);
}

// semantics.md, 65.
TEST(AddVariablesTest, CutsAsThePartitionerSays) {
  const ShardMap two =
      AddVariables(Empty(2), {Spec("five", {5}), Spec("six", {6, 2})},
                   FixedShards(2))
          .value();
  EXPECT_THAT(RowsOf(two, "five"), ElementsAre(3, 2));
  EXPECT_THAT(RowsOf(two, "six"), ElementsAre(3, 3));
  EXPECT_EQ(two.Find("six")->shards[0].server, 0u);
  EXPECT_EQ(two.Find("six")->shards[1].server, 1u);
  const ShardMap four =
      AddVariables(Empty(4), {Spec("ten", {10}), Spec("three", {3})},
                   FixedShards(4))
          .value();
  EXPECT_THAT(RowsOf(four, "ten"), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(RowsOf(four, "three"), ElementsAre(1, 1, 1));
  const ShardMap whole =
      AddVariables(Empty(2), {Spec("a", {1000, 16}), Spec("b", {1000, 16})},
                   MinSize(64 << 20, 2))
          .value();
  EXPECT_THAT(RowsOf(whole, "a"), ElementsAre(1000));
  EXPECT_EQ(ServerOf(whole, "a"), 0u);
  EXPECT_EQ(ServerOf(whole, "b"), 1u);
}

// semantics.md, 67, as far as the map is concerned: the request is kept.
TEST(AddVariablesTest, KeepsTheSpec) {
  VariableSpec spec = Spec("w", {10, 4});
  spec.aggregation = Aggregation::kSum;
  spec.trainable = false;
  spec.update = Sync{.replicas = 3, .backup = 1};
  spec.non_finite = NonFinite::kSkip;
  spec.optimizer = Adam{.learning_rate = 0.5};
  const ShardMap map =
      AddVariables(Empty(2), {spec, Spec("x")}, FixedShards(2)).value();
  const VariableSpec& kept = map.Find("w")->spec;
  EXPECT_EQ(kept.shape, spec.shape);
  EXPECT_EQ(kept.aggregation, Aggregation::kSum);
  EXPECT_FALSE(kept.trainable);
  EXPECT_EQ(std::get<Sync>(kept.update).backup, 1);
  EXPECT_EQ(kept.non_finite, NonFinite::kSkip);
  EXPECT_EQ(
      std::get<double>(std::get<Adam>(kept.optimizer->rule).learning_rate),
      0.5);
  EXPECT_EQ(map.Find("w")->shards.size(), 2u);
}

// A table of 100 MB and the layers of a model. For comparison: the same shards
// placed round robin by count in order of creation, as TensorFlow does.
TEST(AddVariablesTest, BalancesATableAndSmallVariables) {
  std::vector<VariableSpec> specs;
  specs.push_back(Spec("embedding", {1'562'500, 16}));  // 100 MB
  for (int i = 0; i < 25; ++i) {
    const int64_t width = 64 << (i % 3);
    specs.push_back(Spec(absl::StrCat("layer", i, "/kernel"), {width, width}));
    specs.push_back(Spec(absl::StrCat("layer", i, "/bias"), {width}));
  }
  for (VariableSpec& spec : specs) spec.optimizer = Adagrad{};
  const ShardMap map =
      AddVariables(Empty(4), specs, DefaultPartitioner(4)).value();
  const double ours = MaxOverMean(BytesPerServer(map));

  const auto round_robin = [&](const Partitioner& partitioner) {
    std::vector<uint64_t> bytes(4);
    size_t next = 0;
    for (const VariableSpec& spec : specs) {
      const ShardMap one = AddVariables(Empty(4), {spec}, partitioner).value();
      for (const ShardPlace& shard : one.entries()[0].shards) {
        bytes[next++ % 4] += static_cast<uint64_t>(shard.end - shard.begin) *
                             StoredRowBytes(spec);
      }
    }
    return MaxOverMean(bytes);
  };
  const double same_shards = round_robin(DefaultPartitioner(4));
  const double whole = round_robin(FixedShards(1));
  RecordProperty("max_over_mean", absl::StrCat(ours));
  RecordProperty("round_robin_same_shards", absl::StrCat(same_shards));
  RecordProperty("round_robin_whole", absl::StrCat(whole));
  EXPECT_LE(ours, 1.1);
  EXPECT_LE(ours, same_shards);
  EXPECT_GT(whole, 3);
}

TEST(AddVariablesTest, BalancesLayersOfAllSizes) {
  // No variable is split: round robin goes wrong depending on the order.
  std::vector<VariableSpec> specs;
  std::vector<uint64_t> round_robin(4);
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t rows = i % 4 == 0 ? 60'000 : 100;  // every fourth is large
    specs.push_back(Spec(absl::StrCat("w", i), {rows}));
    round_robin[static_cast<size_t>(i % 4)] += static_cast<uint64_t>(rows) * 4;
  }
  const ShardMap map =
      AddVariables(Empty(4), specs, DefaultPartitioner(4)).value();
  const double ours = MaxOverMean(BytesPerServer(map));
  RecordProperty("max_over_mean", absl::StrCat(ours));
  RecordProperty("round_robin", absl::StrCat(MaxOverMean(round_robin)));
  EXPECT_LE(ours, 1.2);  // ten large ones on four servers: 3 on two of them
  EXPECT_GT(MaxOverMean(round_robin), 3.9);
}

TEST(AddVariablesTest, SlotsCountInTheBalance) {
  VariableSpec adam = Spec("adam", {100});
  adam.optimizer = Adam{};  // three times the size of its values
  const ShardMap map =
      AddVariables(Empty(2),
                   {adam, Spec("a", {100}), Spec("b", {100}), Spec("c", {100})},
                   FixedShards(1))
          .value();
  EXPECT_EQ(ServerOf(map, "adam"), 0u);
  EXPECT_EQ(ServerOf(map, "a"), 1u);
  EXPECT_EQ(ServerOf(map, "b"), 1u);
  EXPECT_EQ(ServerOf(map, "c"), 1u);
}

TEST(AddVariablesTest, WhatIsThereStays) {
  const ShardMap one =
      AddVariables(Empty(2), {Spec("big", {100})}, FixedShards(1)).value();
  const ShardMap two =
      AddVariables(one, {Spec("a", {50}), Spec("b", {50}), Spec("c", {10})},
                   FixedShards(1))
          .value();
  EXPECT_EQ(ServerOf(two, "big"), 0u);
  EXPECT_EQ(ServerOf(two, "a"), 1u);
  EXPECT_EQ(ServerOf(two, "b"), 1u);
  EXPECT_EQ(ServerOf(two, "c"), 0u);
  EXPECT_EQ(two.version(), 2u);
  EXPECT_EQ(two.Find("big")->id, 1u);
  EXPECT_EQ(two.Find("a")->id, 2u);
  EXPECT_EQ(two.Find("c")->id, 4u);
}

TEST(AddVariablesTest, OrthogonalOnesAreNotCut) {
  VariableSpec spec = Spec("w", {100, 100});
  spec.initializer = Orthogonal{};
  const ShardMap map = AddVariables(Empty(2), {spec}, FixedShards(2)).value();
  EXPECT_EQ(map.Find("w")->shards.size(), 1u);
}

TEST(AddVariablesTest, ColocatedOnesAreWithTheFirstShard) {
  const ShardMap map =
      AddVariables(Empty(3),
                   {Spec("table", {300, 4}), Beside("near", "table", {60, 4}),
                    Beside("nearer", "near", {60, 4}), Spec("w", {90, 4})},
                   FixedShards(3))
          .value();
  const uint32_t home = ServerOf(map, "table");
  EXPECT_EQ(map.Find("near")->shards.size(), 1u);
  EXPECT_EQ(ServerOf(map, "near"), home);
  EXPECT_EQ(ServerOf(map, "nearer"), home);
  EXPECT_EQ(map.Find("table")->shards.size(), 3u);

  // Also with existing variables, and through a chain of them.
  const ShardMap more =
      AddVariables(map,
                   {Beside("late", "nearer"), Beside("later", "late"),
                    Beside("latest", "table")},
                   FixedShards(3))
          .value();
  EXPECT_EQ(ServerOf(more, "late"), home);
  EXPECT_EQ(ServerOf(more, "later"), home);
  EXPECT_EQ(ServerOf(more, "latest"), home);
}

TEST(AddVariablesTest, ColocatedBytesCountInTheBalance) {
  // The small one pulls the large one along, so the others stay away.
  const ShardMap map =
      AddVariables(Empty(2),
                   {Spec("small", {1}), Beside("large", "small", {100}),
                    Spec("b", {40}), Spec("c", {40})},
                   FixedShards(1))
          .value();
  EXPECT_EQ(ServerOf(map, "small"), 0u);
  EXPECT_EQ(ServerOf(map, "large"), 0u);
  EXPECT_EQ(ServerOf(map, "b"), 1u);
  EXPECT_EQ(ServerOf(map, "c"), 1u);
}

TEST(AddVariablesTest, ColocationHasToLeadSomewhere) {
  const auto add = [](std::vector<VariableSpec> specs) {
    return AddVariables(Empty(2), std::move(specs), FixedShards(1));
  };
  EXPECT_THAT(
      add({Spec("a"), Beside("b", "nobody")}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("variable \"b\""),
                     HasSubstr("colocate_with names variable \"nobody\""))));
  EXPECT_THAT(add({Beside("a", "b"), Beside("b", "c"), Beside("c", "a")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("variable \"a\""),
                             HasSubstr("goes in a circle"))));
  // Points into a cycle that it is not part of.
  EXPECT_THAT(add({Beside("a", "b"), Beside("b", "c"), Beside("c", "b")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("goes in a circle")));
  EXPECT_THAT(add({Beside("a", "a")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("names the variable itself")));
}

TEST(AddVariablesTest, ErrorsNameTheVariable) {
  const ShardMap map =
      AddVariables(Empty(2), {Spec("w")}, FixedShards(1)).value();
  EXPECT_THAT(
      AddVariables(map, {Spec("x"), Spec("w")}, FixedShards(1)),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("variable \"w\"")));
  EXPECT_THAT(AddVariables(map, {Spec("x"), Spec("x")}, FixedShards(1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable \"x\": two")));
  EXPECT_THAT(AddVariables(Empty(0), {Spec("w")}, FixedShards(1)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("no parameter server")));
  EXPECT_THAT(AddVariables(map, {Spec("")}, FixedShards(1)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(AddVariables(map, {Spec("x")},
                           [](const Shape&, DType) { return int64_t{0}; }),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable \"x\": its partitioner")));
  EXPECT_THAT(
      AddVariables(map, {Spec("x", {int64_t{1} << 33, 2})}, FixedShards(1)),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("variable \"x\""), HasSubstr("at least 3 shards"))));
}

TEST(AddVariablesTest, IdsRunOut) {
  const ShardMap map = ShardMap::Make(1, 1, 1, {}, UINT32_MAX - 1).value();
  const ShardMap last = AddVariables(map, {Spec("w")}, FixedShards(1)).value();
  EXPECT_EQ(last.Find("w")->id, UINT32_MAX - 1);
  EXPECT_THAT(AddVariables(last, {Spec("x")}, FixedShards(1)),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// Random variables, some colocated with others.
std::vector<VariableSpec> AnySpecs() {
  const auto count = *rc::gen::inRange<size_t>(1, 30);
  std::vector<VariableSpec> specs;
  for (size_t i = 0; i < count; ++i) {
    const auto rows = *rc::gen::inRange<int64_t>(0, 2000);
    const auto columns = *rc::gen::inRange<int64_t>(0, 100);
    VariableSpec spec = Spec(absl::StrCat("v", i), {rows, columns});
    if (*rc::gen::arbitrary<bool>()) spec.optimizer = Adagrad{};
    if (i > 0 && *rc::gen::inRange(0, 4) == 0) {
      spec.colocate_with = absl::StrCat("v", *rc::gen::inRange<size_t>(0, i));
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

RC_GTEST_PROP(AddVariablesProperty, TheOrderDoesNotMatter, ()) {
  const auto servers = *rc::gen::inRange<uint32_t>(1, 9);
  std::vector<VariableSpec> specs = AnySpecs();
  const Partitioner partitioner = MinSize(1000, servers);
  const ShardMap map = AddVariables(Empty(servers), specs, partitioner).value();
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  std::shuffle(specs.begin(), specs.end(), std::mt19937(seed));
  const ShardMap again =
      AddVariables(Empty(servers), specs, partitioner).value();
  RC_ASSERT(map.entries().size() == again.entries().size());
  for (size_t i = 0; i < map.entries().size(); ++i) {
    RC_ASSERT(map.entries()[i].id == again.entries()[i].id);
    RC_ASSERT(map.entries()[i].spec.name == again.entries()[i].spec.name);
    RC_ASSERT(map.entries()[i].shards == again.entries()[i].shards);
  }
}

RC_GTEST_PROP(AddVariablesProperty, ServersAreWithinGrahamsBound, ()) {
  const auto servers = *rc::gen::inRange<uint32_t>(1, 9);
  const std::vector<VariableSpec> specs = AnySpecs();
  const ShardMap map =
      AddVariables(Empty(servers), specs, MinSize(1000, 20)).value();

  // What cannot be separated: a shard and everything colocated with it.
  std::map<std::string, std::string> root;
  std::map<std::pair<std::string, size_t>, uint64_t> blocks;
  for (const VariableSpec& spec : specs) {  // targets come first
    root[spec.name] =
        spec.colocate_with.empty() ? spec.name : root[spec.colocate_with];
    const VariableEntry& entry = *map.Find(spec.name);
    std::set<uint32_t> used;
    for (size_t s = 0; s < entry.shards.size(); ++s) {
      const ShardPlace& shard = entry.shards[s];
      blocks[{root[spec.name], s}] +=
          static_cast<uint64_t>(shard.end - shard.begin) * StoredRowBytes(spec);
      used.insert(shard.server);
    }
    RC_ASSERT(used.size() == std::min<size_t>(servers, entry.shards.size()));
    RC_ASSERT(entry.shards[0].server ==
              map.Find(root[spec.name])->shards[0].server);
  }
  uint64_t largest = 0;
  for (const auto& [block, bytes] : blocks) largest = std::max(largest, bytes);
  const std::vector<uint64_t> load = BytesPerServer(map);
  const uint64_t total = std::accumulate(load.begin(), load.end(), uint64_t{0});
  const uint64_t most = *std::max_element(load.begin(), load.end());
  RC_ASSERT(most * servers <= total + largest * (servers - 1));
}

}  // namespace
}  // namespace capstan
