#include "cluster/union_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "capstan/error.h"
#include "capstan/resolver.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

absl::StatusOr<ClusterSpec> Merge(const std::vector<ClusterSpec>& specs) {
  return MergeSpecs(specs);
}

ClusterSpec Sparse(ClusterSpec::Tasks workers) {
  return ClusterSpec::FromDict({{Role::kWorker, std::move(workers)}});
}

TEST(MergeSpecsTest, ListsFollowOneAnother) {
  EXPECT_THAT(
      Merge({ClusterSpec({{Role::kChief, {"a:1"}}, {Role::kWorker, {"b:1"}}}),
             ClusterSpec(
                 {{Role::kWorker, {"c:1", "d:1"}}, {Role::kPs, {"e:1"}}})}),
      IsOkAndHolds(ClusterSpec({{Role::kChief, {"a:1"}},
                                {Role::kWorker, {"b:1", "c:1", "d:1"}},
                                {Role::kPs, {"e:1"}}})));
}

TEST(MergeSpecsTest, SparseJobsKeepTheirIndices) {
  EXPECT_THAT(Merge({Sparse({{1, "b:1"}}), Sparse({{3, "d:1"}})}),
              IsOkAndHolds(Sparse({{1, "b:1"}, {3, "d:1"}})));
}

TEST(MergeSpecsTest, OneSparseJobMakesAllSparse) {
  EXPECT_THAT(Merge({Sparse({{0, "a:1"}, {1, "b:1"}}), Sparse({{4, "e:1"}})}),
              IsOkAndHolds(Sparse({{0, "a:1"}, {1, "b:1"}, {4, "e:1"}})));
}

TEST(MergeSpecsTest, SameIndexTwiceIsAnError) {
  EXPECT_THAT(Merge({Sparse({{0, "a:1"}, {1, "b:1"}}),
                     Sparse({{1, "x:1"}, {4, "e:1"}})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("worker/1 is in two parts"),
                             HasSubstr("at b:1 and at x:1"))));
}

TEST(MergeSpecsTest, OtherJobsStayDense) {
  EXPECT_THAT(Merge({ClusterSpec::FromDict({{Role::kWorker, {{2, "w:1"}}},
                                            {Role::kPs, {{0, "a:1"}}}}),
                     ClusterSpec({{Role::kPs, {"b:1"}}})}),
              IsOkAndHolds(ClusterSpec::FromDict(
                  {{Role::kWorker, {{2, "w:1"}}},
                   {Role::kPs, {{0, "a:1"}, {1, "b:1"}}}})));
}

TEST(UnionResolverTest, FirstResolverDecidesTheRest) {
  const auto first = std::make_shared<SimpleClusterResolver>(
      ClusterSpec({{Role::kChief, {"a:1"}}, {Role::kWorker, {"b:1"}}}),
      TaskId{Role::kWorker, 0});
  const auto second = std::make_shared<SimpleClusterResolver>(
      ClusterSpec({{Role::kPs, {"c:1"}}}), TaskId{Role::kPs, 0});
  const ResolvedCluster resolved =
      UnionClusterResolver({first, second}).Resolve();
  EXPECT_THAT(resolved.task, Optional(TaskId{Role::kWorker, 0}));
  EXPECT_EQ(resolved.source, "the program and the program");
  EXPECT_EQ(resolved.spec.ToString(), "1 chief, 1 worker, 1 ps");
}

TEST(UnionResolverTest, WarningsAreKept) {
  const auto config = std::make_shared<TFConfigClusterResolver>(
      ClusterOverrides(), Environment::Of({{"TF_CONFIG", R"({"cluster":
          {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}, "x": 1})"}}));
  const auto more = std::make_shared<SimpleClusterResolver>(
      ClusterSpec({{Role::kWorker, {"d:1"}}}));
  const ResolvedCluster resolved = UnionClusterResolver({more, config}).Read();
  EXPECT_THAT(resolved.warnings, ElementsAre(HasSubstr("\"x\"")));
  EXPECT_EQ(resolved.spec.task_address({Role::kWorker, 0}), "d:1");
  EXPECT_EQ(resolved.task, std::nullopt);
}

TEST(UnionResolverTest, NeedsResolvers) {
  EXPECT_THROW(UnionClusterResolver({}), Error);
  EXPECT_THROW(UnionClusterResolver({nullptr}), Error);
}

}  // namespace
}  // namespace capstan
