#include "cluster/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "capstan/error.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

ClusterSpec FourTasks() {
  return ClusterSpec({{Role::kChief, {"a:1"}},
                      {Role::kWorker, {"b:1", "c:1"}},
                      {Role::kPs, {"d:1"}}});
}

TEST(NumberVariableTest, ReadsAndRefuses) {
  const Environment environment =
      Environment::Of({{"TWO", "2"}, {"TEXT", "two"}, {"EMPTY", ""}});
  EXPECT_THAT(NumberVariable(environment, "TWO", 1, 9),
              IsOkAndHolds(Optional(2)));
  EXPECT_THAT(NumberVariable(environment, "NONE", 1, 9),
              IsOkAndHolds(std::nullopt));
  EXPECT_THAT(NumberVariable(environment, "EMPTY", 1, 9),
              IsOkAndHolds(std::nullopt));
  EXPECT_THAT(NumberVariable(environment, "TEXT", 1, 9),
              StatusIs(kInvalid, AllOf(HasSubstr("TEXT=\"two\""),
                                       HasSubstr("from 1 to 9"))));
  EXPECT_THAT(NumberVariable(environment, "TWO", 3, 9), StatusIs(kInvalid));
}

TEST(NumberVariableTest, WhatIsGivenWins) {
  const Environment environment = Environment::Of({{"TWO", "2"}});
  EXPECT_THAT(GivenOrVariable(5, environment, "TWO", 7, 1, 9), IsOkAndHolds(5));
  EXPECT_THAT(GivenOrVariable({}, environment, "TWO", 7, 1, 9),
              IsOkAndHolds(2));
  EXPECT_THAT(GivenOrVariable({}, environment, "NONE", 7, 1, 9),
              IsOkAndHolds(7));
  EXPECT_THAT(GivenOrVariable(10, environment, "TWO", 7, 1, 9),
              StatusIs(kInvalid, HasSubstr("TWO=10")));
}

TEST(CombineTaskTest, NeedsBothOrNone) {
  EXPECT_THAT(CombineTask({}, {}), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(CombineTask(Role::kPs, 1),
              IsOkAndHolds(Optional(TaskId{Role::kPs, 1})));
  EXPECT_THAT(CombineTask(Role::kChief, {}),
              IsOkAndHolds(Optional(TaskId{Role::kChief, 0})));
  EXPECT_THAT(CombineTask(Role::kEvaluator, {}),
              IsOkAndHolds(Optional(TaskId{Role::kEvaluator, 0})));
  EXPECT_THAT(CombineTask(Role::kWorker, {}),
              StatusIs(kInvalid, HasSubstr("type worker but no index")));
  EXPECT_THAT(CombineTask({}, 1),
              StatusIs(kInvalid, HasSubstr("index 1 but no type")));
}

TEST(TaskVariableTest, SaysWhatTheSourceDoesNot) {
  const Environment environment =
      Environment::Of({{"CAPSTAN_TASK", "worker/1"}});
  ResolvedCluster resolved;
  EXPECT_OK(ApplyTaskVariable(environment, {}, resolved));
  EXPECT_THAT(resolved.task, Optional(TaskId{Role::kWorker, 1}));
  EXPECT_OK(ApplyTaskVariable(environment, {}, resolved));
}

TEST(TaskVariableTest, MustNotContradict) {
  const Environment environment =
      Environment::Of({{"CAPSTAN_TASK", "worker/1"}});
  ResolvedCluster resolved;
  resolved.task = {Role::kPs, 0};
  resolved.source = "a file";
  EXPECT_THAT(
      ApplyTaskVariable(environment, {}, resolved),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("a file says that this is ps/0"),
                     HasSubstr("CAPSTAN_TASK says worker/1: unset one"))));
  // But an override takes precedence.
  EXPECT_OK(ApplyTaskVariable(environment, {.task_index = 3}, resolved));
}

TEST(TaskVariableTest, MustBeATask) {
  ResolvedCluster resolved;
  EXPECT_THAT(
      ApplyTaskVariable(Environment::Of({{"CAPSTAN_TASK", "1"}}), {}, resolved),
      StatusIs(kInvalid, HasSubstr("CAPSTAN_TASK: \"1\" is not a task")));
}

TEST(OverridesTest, EachIsForItself) {
  ResolvedCluster resolved;
  resolved.task = {Role::kWorker, 1};
  EXPECT_OK(ApplyOverrides({.task_index = 2}, resolved));
  EXPECT_THAT(resolved.task, Optional(TaskId{Role::kWorker, 2}));
  EXPECT_OK(ApplyOverrides({.task_type = Role::kPs}, resolved));
  EXPECT_THAT(resolved.task, Optional(TaskId{Role::kPs, 2}));
  EXPECT_OK(ApplyOverrides({.cluster = FourTasks()}, resolved));
  EXPECT_EQ(resolved.spec, FourTasks());
  EXPECT_THAT(resolved.task, Optional(TaskId{Role::kPs, 2}));
  EXPECT_OK(ApplyOverrides({.rpc_layer = "grpc"}, resolved));
  EXPECT_EQ(resolved.rpc.layer, "capstan");
  EXPECT_THAT(ApplyOverrides({.rpc_layer = "carrier-pigeon"}, resolved),
              StatusIs(kInvalid, HasSubstr("\"carrier-pigeon\"")));
}

TEST(SimpleResolverTest, SaysWhatItIsGiven) {
  const ResolvedCluster resolved =
      SimpleClusterResolver(FourTasks(), TaskId{Role::kWorker, 1}).Resolve();
  EXPECT_EQ(resolved.spec, FourTasks());
  EXPECT_THAT(resolved.task, Optional(TaskId{Role::kWorker, 1}));
  EXPECT_EQ(resolved.rpc, RpcOptions());
  EXPECT_EQ(resolved.ToString(),
            "cluster: from the program, 1 chief, 2 workers, 1 ps; this is "
            "worker/1");
}

TEST(SimpleResolverTest, TaskMayBeUnknown) {
  EXPECT_THAT(SimpleClusterResolver(FourTasks()).Resolve().ToString(),
              HasSubstr("; this is none of them"));
}

TEST(ResolverTest, ReadAcceptsAPartAndResolveDoesNot) {
  const SimpleClusterResolver part(ClusterSpec({{Role::kWorker, {"a:1"}}}));
  EXPECT_EQ(part.Read().spec.num_tasks(), 1);
  try {
    part.Resolve();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("the program: no chief"));
  }
}

TEST(ResolverTest, ResolveChecksTheTask) {
  const SimpleClusterResolver resolver(FourTasks(), TaskId{Role::kWorker, 2});
  try {
    resolver.Resolve();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfRange);
    EXPECT_THAT(error.what(), HasSubstr("worker/2 is not in the cluster"));
  }
}

}  // namespace
}  // namespace capstan
