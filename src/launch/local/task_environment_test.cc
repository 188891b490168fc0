#include "launch/local/task_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const ClusterSpec kSpec({{Role::kChief, {"a:1"}}, {Role::kWorker, {"b:1"}}});

constexpr char kConfig[] =
    R"(TF_CONFIG={"cluster":{"chief":["a:1"],"worker":["b:1"]},)"
    R"("task":{"type":"worker","index":0}})";

TEST(TaskEnvironmentTest, DescribesTheJob) {
  TaskEnvironmentOptions options;
  options.job_id = "j1";
  EXPECT_THAT(TaskEnvironment({Role::kWorker, 0}, kSpec, options),
              UnorderedElementsAre(kConfig, "CAPSTAN_TASK=worker/0",
                                   "CAPSTAN_JOB_ID=j1",
                                   "CAPSTAN_CLUSTER_FROM=tf_config"));
}

TEST(TaskEnvironmentTest, GivenSecretsReplaceInheritedOnes) {
  TaskEnvironmentOptions options;
  options.inherited = {"HOME=/root", "CAPSTAN_TLS=/old", "CAPSTAN_TOKEN=/old"};
  std::vector<std::string> kept =
      TaskEnvironment({Role::kWorker, 0}, kSpec, options);
  kept.resize(3);
  EXPECT_THAT(kept, ElementsAre("HOME=/root", "CAPSTAN_TLS=/old",
                                "CAPSTAN_TOKEN=/old"));
  options.tls = "/new";
  options.token = "/new/token";
  EXPECT_THAT(
      TaskEnvironment({Role::kWorker, 0}, kSpec, options),
      UnorderedElementsAre("HOME=/root", kConfig, "CAPSTAN_TASK=worker/0",
                           "CAPSTAN_JOB_ID=", "CAPSTAN_CLUSTER_FROM=tf_config",
                           "CAPSTAN_TLS=/new", "CAPSTAN_TOKEN=/new/token"));
}

TEST(TaskEnvironmentTest, HowManyFunctionsRunAtOnceIsInheritedOrGiven) {
  TaskEnvironmentOptions options;
  options.inherited = {"CAPSTAN_CONCURRENCY=2"};
  EXPECT_THAT(TaskEnvironment({Role::kWorker, 0}, kSpec, options),
              Contains("CAPSTAN_CONCURRENCY=2"));
  options.concurrency = 5;
  EXPECT_THAT(TaskEnvironment({Role::kWorker, 0}, kSpec, options),
              AllOf(Contains("CAPSTAN_CONCURRENCY=5"),
                    Not(Contains("CAPSTAN_CONCURRENCY=2"))));
}

TEST(TaskEnvironmentTest, KernelsAreChosenUnlessTheUserDid) {
  TaskEnvironmentOptions options;
  options.blas_core = "SKYLAKEX";
  EXPECT_THAT(TaskEnvironment({Role::kWorker, 0}, kSpec, options),
              Contains("OPENBLAS_CORETYPE=SKYLAKEX"));
  options.inherited = {"OPENBLAS_CORETYPE=ZEN"};
  EXPECT_THAT(TaskEnvironment({Role::kWorker, 0}, kSpec, options),
              AllOf(Contains("OPENBLAS_CORETYPE=ZEN"),
                    Not(Contains("OPENBLAS_CORETYPE=SKYLAKEX"))));
}

}  // namespace
}  // namespace capstan
