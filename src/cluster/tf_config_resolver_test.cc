#include "cluster/tf_config_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/error.h"
#include "cluster/mistake_test.h"
#include "cluster/resolve.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::Mistake;
using ::capstan::testing::MistakeName;
using ::capstan::testing::Reports;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr char kCluster[] =
    R"({"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]})";

Environment Config(const std::string& text) {
  return Environment::Of({{"TF_CONFIG", text}});
}

// A TF_CONFIG with kCluster, followed by `rest`.
std::string With(const std::string& rest) {
  return R"({"cluster": )" + std::string(kCluster) + ", " + rest + "}";
}

// Reads and checks like ClusterResolver::Resolve, without exceptions.
absl::StatusOr<ResolvedCluster> ResolveConfig(
    const std::string& text, const ClusterOverrides& overrides = {}) {
  absl::StatusOr<ResolvedCluster> resolved =
      ReadTfConfig(Config(text), overrides);
  CAPSTAN_RETURN_IF_ERROR(resolved.status());
  CAPSTAN_RETURN_IF_ERROR(ValidateResolved(*resolved));
  return resolved;
}

TEST(TfConfigTest, ClusterAndTask) {
  const ResolvedCluster resolved =
      TFConfigClusterResolver(
          {}, Config(With(R"("task": {"type": "worker", "index": 1})")))
          .Resolve();
  EXPECT_EQ(resolved.spec, ClusterSpec::FromJson(kCluster));
  EXPECT_THAT(resolved.task, Optional(TaskId{Role::kWorker, 1}));
  EXPECT_EQ(resolved.rpc.layer, "capstan");
  EXPECT_EQ(resolved.source, "TF_CONFIG");
  EXPECT_EQ(resolved.job_id, "");
  EXPECT_THAT(resolved.warnings, IsEmpty());
  EXPECT_EQ(resolved.ToString(),
            "cluster: from TF_CONFIG, 1 chief, 2 workers, 1 ps; this is "
            "worker/1");
}

TEST(TfConfigTest, EveryRole) {
  for (const char* task : {"chief", "worker", "ps", "evaluator"}) {
    const auto resolved = ResolveConfig(With(
        R"("task": {"index": 0, "type": ")" + std::string(task) + R"("})"));
    ASSERT_OK(resolved);
    EXPECT_EQ(resolved->task->ToString(), std::string(task) + "/0");
  }
}

TEST(TfConfigTest, IndexMayBeAText) {
  const auto resolved =
      ResolveConfig(With(R"("task": {"type": "worker", "index": "1"})"));
  ASSERT_OK(resolved);
  EXPECT_THAT(resolved->task, Optional(TaskId{Role::kWorker, 1}));
}

TEST(TfConfigTest, SparseJob) {
  const auto resolved =
      ResolveConfig(R"({"cluster": {"chief": ["a:1"], "worker": {"4": "b:1"},
                  "ps": ["d:1"]}, "task": {"type": "worker", "index": 4}})");
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.task_address({Role::kWorker, 4}), "b:1");
}

TEST(TfConfigTest, TaskMayBeMissing) {
  const auto resolved =
      ResolveConfig(R"({"cluster": )" + std::string(kCluster) + "}");
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->task, std::nullopt);
}

// As Kubeflow and Vertex AI write it.
TEST(TfConfigTest, KeysOfOthersAreAccepted) {
  const auto resolved = ResolveConfig(
      With(R"("task": {"type": "ps", "index": 0, "trial": "1", "cloud": "x"},
              "environment": "cloud", "rpc_layer": "grpc",
              "session_master": "", "job": {"scale_tier": "CUSTOM"})"));
  ASSERT_OK(resolved);
  EXPECT_THAT(resolved->warnings, IsEmpty());
}

TEST(TfConfigTest, UnknownKeysAreWarnings) {
  const auto resolved = ResolveConfig(
      With(R"("task": {"type": "ps", "index": 0, "idx": 1}, "tasks": 1,
              "rpc_layer": "grpc+loas")"));
  ASSERT_OK(resolved);
  EXPECT_THAT(resolved->warnings,
              ElementsAre(AllOf(HasSubstr("TF_CONFIG: the key \"tasks\""),
                                HasSubstr("did you mean \"task\"?")),
                          HasSubstr("the key task.\"idx\""),
                          HasSubstr("rpc_layer \"grpc+loas\" is ignored")));
}

TEST(TfConfigTest, OverridesAreEachForThemselves) {
  const std::string text = With(R"("task": {"type": "worker", "index": 1})");
  EXPECT_THAT(ResolveConfig(text, {.task_index = 0})->task,
              Optional(TaskId{Role::kWorker, 0}));
  EXPECT_THAT(
      ResolveConfig(text, {.task_type = Role::kPs, .task_index = 0})->task,
      Optional(TaskId{Role::kPs, 0}));
  const ClusterSpec other({{Role::kChief, {"x:1"}},
                           {Role::kWorker, {"y:1", "z:1"}},
                           {Role::kPs, {"q:1"}}});
  const auto replaced = ResolveConfig(text, {.cluster = other});
  EXPECT_EQ(replaced->spec, other);
  EXPECT_THAT(replaced->task, Optional(TaskId{Role::kWorker, 1}));
}

TEST(TfConfigTest, OverrideOfTheTypeAloneKeepsTheIndex) {
  EXPECT_THAT(
      ResolveConfig(With(R"("task": {"type": "worker", "index": 1})"),
                    {.task_type = Role::kPs}),
      StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("ps/1 is not in")));
}

TEST(TfConfigTest, WhatIsOverriddenIsNotRead) {
  const ClusterSpec spec = ClusterSpec::FromJson(kCluster);
  const ClusterOverrides all = {
      .cluster = spec, .task_type = Role::kWorker, .task_index = 1};
  for (const char* text :
       {"{}", R"({"cluster": 1, "task": 2})", R"({"task": {}})"}) {
    const auto resolved = ResolveConfig(text, all);
    ASSERT_OK(resolved) << text;
    EXPECT_EQ(resolved->spec, spec);
    EXPECT_THAT(resolved->task, Optional(TaskId{Role::kWorker, 1}));
  }
}

TEST(TfConfigTest, MustBeSet) {
  EXPECT_THAT(ReadTfConfig(Environment(), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("TF_CONFIG is not set")));
  EXPECT_THAT(ReadTfConfig(Config(""), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("TF_CONFIG is set but empty: unset it")));
}

TEST(TfConfigTest, ResolverThrows) {
  try {
    TFConfigClusterResolver({}, Config("{")).Resolve();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("TF_CONFIG: not JSON"));
  }
}

class BadTfConfigTest : public ::testing::TestWithParam<Mistake<std::string>> {
};

TEST_P(BadTfConfigTest, SaysWhatIsWrong) {
  const auto resolved = ResolveConfig(GetParam().input);
  EXPECT_THAT(resolved, Reports(GetParam()));
  EXPECT_THAT(std::string(resolved.status().message()),
              ::testing::StartsWith("TF_CONFIG: "));
}

using absl::StatusCode::kOutOfRange;
constexpr char kTask[] = R"("task": {"type": "worker", "index": 0})";

std::string Cluster(const std::string& cluster) {
  return R"({"cluster": )" + cluster + ", " + kTask + "}";
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTfConfigTest,
    ::testing::ValuesIn(std::vector<Mistake<std::string>>{
        {"Blank", " ", {"not JSON at line 1, column 2", "too early"}},
        {"NotJson",
         "worker=1",
         {"not JSON at line 1, column 1", "\"worker=1\""}},
        {"SingleQuotes", "{'cluster': {}}", {"column 2", "double quotes"}},
        {"Truncated",
         R"({"cluster": {"chief": ["a:1"], )",
         {"line 1, column 32", "too early"}},
        {"TrailingComma",
         "{\"cluster\": {},\n}",
         {"line 2, column 1", "remove the comma"}},
        {"TwoValues", "{}{}", {"line 1, column 3"}},
        {"List", R"(["worker"])", {"it is [\"worker\"]", "an object"}},
        {"Text", R"("worker")", {"it is \"worker\""}},
        {"KeyTwice",
         R"({"task": 1, "task": 2})",
         {"the key \"task\" is there twice"}},
        {"NoCluster", R"({"task": {}})", {"no \"cluster\": add it"}},
        {"ClusterIsList", Cluster("[]"), {"cluster is []"}},
        {"EmptyCluster", Cluster("{}"), {"the cluster is empty"}},
        {"Master",
         Cluster(R"({"master": ["a:1"]})"),
         {"disallowed task type \"master\"", "called \"chief\" here"}},
        {"ArbitraryJob",
         Cluster(R"({"some_job": ["a:1"]})"),
         {"disallowed task type \"some_job\"",
          "the types are chief, worker, ps, evaluator"}},
        {"JobIsText",
         Cluster(R"({"chief": "a:1"})"),
         {"cluster.chief is \"a:1\"", R"(["host:port"])"}},
        {"AddressIsNumber",
         Cluster(R"({"chief": [7077]})"),
         {"cluster.chief[0] is 7077"}},
        {"AddressWithoutPort",
         Cluster(R"({"chief": ["host"]})"),
         {"chief/0: address \"host\"", "write host:port"}},
        {"PortZero",
         Cluster(R"({"chief": ["host:0"]})"),
         {"chief/0", "port 0"}},
        {"TwoChiefs",
         Cluster(R"({"chief": ["a:1", "b:1"], "worker": ["c:1"],
                     "ps": ["d:1"]})"),
         {"2 chiefs (a:1, b:1)", "only one"}},
        {"NoChief",
         Cluster(R"({"worker": ["c:1"], "ps": ["d:1"]})"),
         {"no chief"}},
        {"NoWorker",
         Cluster(R"({"chief": ["a:1"], "ps": ["d:1"]})"),
         {"no worker"}},
        {"NoPs",
         Cluster(R"({"chief": ["a:1"], "worker": ["d:1"]})"),
         {"no ps"}},
        {"SameAddress",
         Cluster(R"({"chief": ["a:1"], "worker": ["a:1"], "ps": ["b:1"]})"),
         {"chief/0 and worker/0 have the same address a:1"}},
        {"TaskIsText",
         With(R"("task": "worker/1")"),
         {"task is \"worker/1\"", R"({"type": "worker", "index": 0})"}},
        {"TaskWithoutType",
         With(R"("task": {"index": 0})"),
         {"task has no type", "chief, worker, ps, evaluator"}},
        {"TaskWithoutIndex",
         With(R"("task": {"type": "worker"})"),
         {"task has no index"}},
        {"TypeIsNumber",
         With(R"("task": {"type": 1, "index": 0})"),
         {"task.type is 1"}},
        {"TypeIsUnknown",
         With(R"("task": {"type": "wroker", "index": 0})"),
         {"task.type: unrecognized task type \"wroker\"",
          "did you mean \"worker\"?"}},
        {"IndexIsText",
         With(R"("task": {"type": "worker", "index": "one"})"),
         {"task.index is \"one\"", "a whole number from 0"}},
        {"IndexIsFraction",
         With(R"("task": {"type": "worker", "index": 0.5})"),
         {"task.index is 0.5"}},
        {"IndexIsBool",
         With(R"("task": {"type": "worker", "index": true})"),
         {"task.index is true"}},
        {"IndexIsNull",
         With(R"("task": {"type": "worker", "index": null})"),
         {"task.index is null"}},
        {"IndexIsNegative",
         With(R"("task": {"type": "worker", "index": -1})"),
         {"task.index is -1"}},
        {"IndexOutOfRange",
         With(R"("task": {"type": "worker", "index": 2})"),
         {"worker/2 is not in the cluster", "2 workers (index 0 to 1)"},
         kOutOfRange},
    }),
    MistakeName());

}  // namespace
}  // namespace capstan
