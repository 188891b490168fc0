#include "cluster/detect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "cluster/mistake_test.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::Mistake;
using ::capstan::testing::MistakeName;
using ::capstan::testing::Reports;
using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

using Variables = std::map<std::string, std::string>;

Variables TfConfig() {
  return {{"TF_CONFIG",
           R"({"cluster": {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]},
           "task": {"type": "worker", "index": 0}})"}};
}

Variables Slurm() {
  return {{"SLURM_JOB_ID", "42"},
          {"SLURM_STEP_ID", "1"},
          {"SLURM_PROCID", "2"},
          {"SLURM_STEP_NUM_TASKS", "3"},
          {"SLURM_STEP_NODELIST", "n[1-3]"},
          {"SLURM_STEP_TASKS_PER_NODE", "1(x3)"}};
}

Variables Kubernetes() {
  return {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
          {"CAPSTAN_WORKERS", "1"},
          {"CAPSTAN_PS", "1"},
          {"HOSTNAME", "ctr-ps-0"}};
}

// All variables; if a name repeats, the last one wins.
Variables Join(const std::vector<Variables>& parts) {
  Variables all;
  for (const Variables& part : parts) {
    for (const auto& [name, value] : part) all[name] = value;
  }
  return all;
}

absl::StatusOr<ResolvedCluster> DetectIn(const Variables& variables,
                                         DetectOptions options = {}) {
  options.environment = Environment::Of(variables);
  return Detect(options);
}

std::string LineIn(const Variables& variables) {
  const auto resolved = DetectIn(variables);
  return resolved.ok() ? resolved->ToString()
                       : std::string(resolved.status().message());
}

class DetectFileTest : public ::testing::Test {
 protected:
  // The variable that names a file containing `text`.
  Variables File(const std::string& text) {
    std::ofstream(path()) << text;
    return {{"CAPSTAN_CLUSTER", path()}};
  }
  std::string path() const { return directory_ / "cluster.yaml"; }

 private:
  TempDir directory_;
};

constexpr char kSameAsTfConfig[] =
    "cluster: {chief: [a:1], worker: [b:1], ps: [c:1]}\n";

TEST(DetectTest, NothingIsStandalone) {
  const auto resolved = DetectIn({});
  ASSERT_OK(resolved);
  EXPECT_TRUE(resolved->spec.empty());
  EXPECT_EQ(resolved->task, std::nullopt);
  EXPECT_EQ(resolved->ToString(),
            "cluster: standalone, all tasks in this process");
}

TEST(DetectTest, EachSourceAlone) {
  EXPECT_EQ(LineIn(TfConfig()),
            "cluster: from TF_CONFIG, 1 chief, 1 worker, 1 ps; this is "
            "worker/0");
  EXPECT_EQ(LineIn(Slurm()),
            "cluster: from Slurm step 42.1, 1 chief, 1 worker, 1 ps; this is "
            "worker/0");
  EXPECT_EQ(LineIn(Kubernetes()),
            "cluster: from Kubernetes, 1 chief, 1 worker, 1 ps; this is ps/0");
}

TEST_F(DetectFileTest, FileAlone) {
  EXPECT_EQ(
      LineIn(Join({File(kSameAsTfConfig), {{"CAPSTAN_TASK", "ps/0"}}})),
      "cluster: from " + path() + ", 1 chief, 1 worker, 1 ps; this is ps/0");
}

TEST(DetectTest, WhatIsNoClusterIsMentioned) {
  EXPECT_EQ(LineIn({{"SLURM_JOB_ID", "42"}, {"SLURM_STEP_NUM_TASKS", "1"}}),
            "cluster: standalone, all tasks in this process (in a Slurm job, "
            "but not in a step of several tasks)");
  EXPECT_EQ(LineIn({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}),
            "cluster: standalone, all tasks in this process (in a Kubernetes "
            "pod, but without CAPSTAN_WORKERS)");
}

TEST_F(DetectFileTest, AgreeingSourcesAreFineAndTheFirstWins) {
  EXPECT_EQ(
      LineIn(Join(
          {File(kSameAsTfConfig), TfConfig(), {{"CAPSTAN_TASK", "worker/0"}}})),
      "cluster: from " + path() +
          ", 1 chief, 1 worker, 1 ps; this is worker/0");
  const Variables same_as_slurm = {
      {"TF_CONFIG",
       R"({"cluster": {"chief": ["n1:8888"], "ps": ["n2:8888"],
                       "worker": ["n3:8888"]},
           "task": {"type": "worker", "index": 0}})"}};
  EXPECT_THAT(LineIn(Join({same_as_slurm, Slurm()})),
              HasSubstr("from TF_CONFIG"));
}

// TFJob: TF_CONFIG in a pod that says nothing about Capstan.
TEST(DetectTest, TfConfigInAPod) {
  EXPECT_THAT(
      LineIn(Join({TfConfig(), {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}})),
      HasSubstr("from TF_CONFIG"));
}

TEST(DetectTest, ChoiceEndsADisagreement) {
  const Variables both = Join({TfConfig(), Slurm()});
  EXPECT_EQ(DetectIn(both).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DetectIn(both, {.from = "slurm"})->source, "Slurm step 42.1");
  EXPECT_EQ(DetectIn(both, {.from = "tf_config"})->source, "TF_CONFIG");
  EXPECT_TRUE(DetectIn(both, {.from = "standalone"})->spec.empty());
  EXPECT_EQ(DetectIn(Join({both, {{"CAPSTAN_CLUSTER_FROM", "slurm"}}}))->source,
            "Slurm step 42.1");
  // The option wins over the variable.
  EXPECT_EQ(DetectIn(Join({both, {{"CAPSTAN_CLUSTER_FROM", "slurm"}}}),
                     {.from = "tf_config"})
                ->source,
            "TF_CONFIG");
}

TEST(DetectTest, GivenClusterWinsWithoutLooking) {
  const ClusterSpec spec({{Role::kChief, {"x:1"}},
                          {Role::kWorker, {"y:1"}},
                          {Role::kPs, {"z:1"}}});
  DetectOptions options;
  options.overrides = {
      .cluster = spec, .task_type = Role::kPs, .task_index = 0};
  const auto resolved = DetectIn({{"TF_CONFIG", "{"}}, options);
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec, spec);
  EXPECT_EQ(resolved->ToString(),
            "cluster: from the command line, 1 chief, 1 worker, 1 ps; this is "
            "ps/0");
}

TEST_F(DetectFileTest, GivenFileWinsWithoutLooking) {
  File(kSameAsTfConfig);
  DetectOptions options;
  options.file = path();
  const auto resolved =
      DetectIn(Join({Slurm(), {{"CAPSTAN_TASK", "chief/0"}}}), options);
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->source, path());
  EXPECT_THAT(resolved->task, Optional(TaskId{Role::kChief, 0}));
}

TEST(DetectTest, OverrideOfTheTask) {
  DetectOptions options;
  options.overrides.task_type = Role::kPs;
  EXPECT_THAT(DetectIn(TfConfig(), options)->task,
              Optional(TaskId{Role::kPs, 0}));
  EXPECT_THAT(DetectIn(Slurm(), options)->task, Optional(TaskId{Role::kPs, 0}));
}

TEST_F(DetectFileTest, TaskIsRequiredUnlessSaidOtherwise) {
  const Variables variables = File(kSameAsTfConfig);
  EXPECT_THAT(DetectIn(variables),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("does not say which task this is"),
                             HasSubstr("CAPSTAN_TASK=worker/0"))));
  const auto resolved = DetectIn(variables, {.require_task = false});
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->task, std::nullopt);
}

TEST_F(DetectFileTest, JobIds) {
  const Variables task = {{"CAPSTAN_TASK", "worker/0"}};
  const Variables file = File("job_id: ctr\n" + std::string(kSameAsTfConfig));
  EXPECT_EQ(DetectIn(Join({file, task}))->job_id, "ctr");
  EXPECT_EQ(DetectIn(Slurm())->job_id, "slurm-42.1");
  EXPECT_EQ(DetectIn(TfConfig())->job_id, "");
  for (const Variables& source :
       {Join({file, task}), Slurm(), TfConfig(), Variables()}) {
    EXPECT_EQ(DetectIn(Join({source, {{"CAPSTAN_JOB_ID", "mine"}}}))->job_id,
              "mine");
  }
}

TEST(DetectTest, PublicFunctionThrows) {
  DetectOptions options;
  options.environment = Environment::Of({{"TF_CONFIG", "{"}});
  try {
    DetectCluster(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("TF_CONFIG: not JSON at line 1"));
  }
}

TEST(DetectTest, PublicFunctionReadsThisProcess) {
  // Must not crash, whatever environment the process was started in.
  try {
    EXPECT_FALSE(DetectCluster({.require_task = false}).ToString().empty());
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
  }
}

class BadStartTest : public ::testing::TestWithParam<Mistake<Variables>> {};

TEST_P(BadStartTest, SaysWhatIsWrong) {
  EXPECT_THAT(DetectIn(GetParam().input), Reports(GetParam()));
}

using absl::StatusCode::kFailedPrecondition;

INSTANTIATE_TEST_SUITE_P(
    All, BadStartTest,
    ::testing::ValuesIn(std::vector<Mistake<Variables>>{
        {"TfConfigAndSlurm",
         Join({TfConfig(), Slurm()}),
         {"disagree", "chief/0 is at a:1 according to TF_CONFIG",
          "at n1:8888 according to Slurm step 42.1",
          "CAPSTAN_CLUSTER_FROM=tf_config or slurm"},
         kFailedPrecondition},
        {"SlurmAndKubernetes",
         Join({Slurm(), Kubernetes()}),
         {"according to Slurm step 42.1", "according to Kubernetes",
          "CAPSTAN_CLUSTER_FROM=slurm or kubernetes"},
         kFailedPrecondition},
        {"OtherNumberOfTasks",
         Join({{{"TF_CONFIG",
                 R"({"cluster": {"chief": ["n1:8888"], "ps": ["n2:8888"],
                     "worker": ["n3:8888", "n4:8888"]},
                     "task": {"type": "worker", "index": 0}})"}},
               Slurm()}),
         {"worker/1 is at n4:8888 according to TF_CONFIG",
          "(1 chief, 2 workers, 1 ps)", "at nowhere according to Slurm",
          "(1 chief, 1 worker, 1 ps)"},
         kFailedPrecondition},
        {"OtherTask",
         Join({{{"TF_CONFIG",
                 R"({"cluster": {"chief": ["n1:8888"], "ps": ["n2:8888"],
                     "worker": ["n3:8888"]},
                     "task": {"type": "ps", "index": 0}})"}},
               Slurm()}),
         {"this is ps/0 according to TF_CONFIG, worker/0 according to Slurm"},
         kFailedPrecondition},
        {"SecondSourceIsBroken",
         Join({TfConfig(), Slurm(), {{"SLURM_STEP_NODELIST", "n["}}}),
         {"Slurm step 42.1: SLURM_STEP_NODELIST",
          "or ignore it with CAPSTAN_CLUSTER_FROM=tf_config"}},
        {"FirstSourceIsBroken",
         Join({Slurm(), {{"TF_CONFIG", "{"}}}),
         {"TF_CONFIG: not JSON"}},
        {"EmptyTfConfig",
         {{"TF_CONFIG", ""}},
         {"TF_CONFIG is set but empty"},
         kFailedPrecondition},
        {"FileIsMissing",
         {{"CAPSTAN_CLUSTER", "/nowhere/cluster.yaml"}},
         {"cluster file: ", "/nowhere/cluster.yaml"},
         absl::StatusCode::kNotFound},
        {"OtherTaskVariable",
         Join({TfConfig(), {{"CAPSTAN_TASK", "ps/0"}}}),
         {"TF_CONFIG says that this is worker/0", "CAPSTAN_TASK says ps/0"},
         kFailedPrecondition},
        {"TaskWithoutCluster",
         {{"CAPSTAN_TASK", "worker/0"}},
         {"CAPSTAN_TASK=worker/0 but there is no cluster", "CAPSTAN_CLUSTER"},
         kFailedPrecondition},
        {"UnknownChoice",
         {{"CAPSTAN_CLUSTER_FROM", "slrum"}},
         {"CAPSTAN_CLUSTER_FROM=\"slrum\"", "did you mean \"slurm\"?"}},
        {"ChoiceThatIsNotThere",
         {{"CAPSTAN_CLUSTER_FROM", "tf_config"}},
         {"TF_CONFIG is not set"},
         kFailedPrecondition},
        {"FileChosenButNotNamed",
         {{"CAPSTAN_CLUSTER_FROM", "file"}},
         {"CAPSTAN_CLUSTER is not set"},
         kFailedPrecondition},
        {"JobId",
         Join({TfConfig(), {{"CAPSTAN_JOB_ID", "my job"}}}),
         {"TF_CONFIG: job id \"my job\"", "no blanks"}},
        {"JobIdAlone",
         {{"CAPSTAN_JOB_ID", std::string(129, 'j')}},
         {"job id \"jjjj", "up to 128"}},
        {"NoPs",
         {{"TF_CONFIG", R"({"cluster": {"chief": ["a:1"], "worker": ["b:1"]},
                            "task": {"type": "chief", "index": 0}})"}},
         {"TF_CONFIG: no ps"}},
    }),
    MistakeName());

TEST(DetectTest, GivenTaskNeedsACluster) {
  DetectOptions options;
  options.overrides.task_type = Role::kWorker;
  EXPECT_THAT(
      DetectIn({}, options),
      StatusIs(kFailedPrecondition, HasSubstr("a task is given but there is no "
                                              "cluster")));
}

}  // namespace
}  // namespace capstan
