#include "cluster/slurm_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
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
using ::testing::HasSubstr;
using ::testing::Optional;

using Variables = std::map<std::string, std::string>;

// A step of 5 tasks on 3 nodes; `more` replaces, adds and (with "") removes
// variables.
Environment Step(Variables more = {}) {
  Variables variables = {{"SLURM_JOB_ID", "42"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_PROCID", "0"},
                         {"SLURM_STEP_NUM_TASKS", "5"},
                         {"SLURM_STEP_NODELIST", "n[08-10]"},
                         {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"}};
  more.merge(variables);
  return Environment::Of(more);
}

absl::StatusOr<ResolvedCluster> ResolveStep(const Environment& environment,
                                            const SlurmOptions& options = {}) {
  absl::StatusOr<ResolvedCluster> resolved = ReadSlurm(environment, options);
  CAPSTAN_RETURN_IF_ERROR(resolved.status());
  CAPSTAN_RETURN_IF_ERROR(ValidateResolved(*resolved));
  return resolved;
}

TEST(SlurmTest, BlocksOfTasks) {
  const ResolvedCluster resolved =
      SlurmClusterResolver({}, Step({{"SLURM_PROCID", "3"}})).Resolve();
  EXPECT_EQ(resolved.spec.ToTable(),
            "chief/0   n08:8888\n"
            "worker/0  n09:8888\n"
            "worker/1  n09:8889\n"
            "worker/2  n10:8888\n"
            "ps/0      n08:8889\n");
  EXPECT_THAT(resolved.task, Optional(TaskId{Role::kWorker, 1}));
  EXPECT_EQ(resolved.job_id, "slurm-42.0");
  EXPECT_EQ(resolved.ToString(),
            "cluster: from Slurm step 42.0, 1 chief, 3 workers, 1 ps; this is "
            "worker/1");
}

TEST(SlurmTest, CyclicTasks) {
  const auto resolved =
      ResolveStep(Step({{"SLURM_DISTRIBUTION", "cyclic:block"}}));
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.ToTable(),
            "chief/0   n08:8888\n"
            "worker/0  n10:8888\n"
            "worker/1  n08:8889\n"
            "worker/2  n09:8889\n"
            "ps/0      n09:8888\n");
}

TEST(SlurmTest, ConfiguredSplit) {
  const auto resolved =
      ResolveStep(Step({{"SLURM_STEP_NUM_TASKS", "6"},
                        {"SLURM_STEP_NODELIST", "b,a"},
                        {"SLURM_STEP_TASKS_PER_NODE", "3(x2)"},
                        {"SLURM_PROCID", "5"},
                        {"CAPSTAN_PS", "2"},
                        {"CAPSTAN_WORKERS", "2"},
                        {"CAPSTAN_EVALUATORS", "1"},
                        {"CAPSTAN_PORT", "7000"}}));
  ASSERT_OK(resolved);
  // Hosts stay in Slurm's order.
  EXPECT_EQ(resolved->spec.ToTable(),
            "chief/0      b:7000\n"
            "worker/0     a:7000\n"
            "worker/1     a:7001\n"
            "ps/0         b:7001\n"
            "ps/1         b:7002\n"
            "evaluator/0  a:7002\n");
  EXPECT_THAT(resolved->task, Optional(TaskId{Role::kEvaluator, 0}));
}

TEST(SlurmTest, OptionsWinOverVariables) {
  const auto resolved =
      ResolveStep(Step({{"CAPSTAN_PS", "1"}, {"CAPSTAN_PORT", "7000"}}),
                  {.counts = {.ps = 3}, .port_base = 9000});
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.ToString(), "1 chief, 1 worker, 3 ps");
  EXPECT_EQ(resolved->spec.task_address({Role::kPs, 0}), "n08:9001");
}

TEST(SlurmTest, OneTaskPerNodeHasNoDistribution) {
  EXPECT_OK(ResolveStep(Step({{"SLURM_STEP_NUM_TASKS", "3"},
                              {"SLURM_STEP_TASKS_PER_NODE", "1(x3)"},
                              {"SLURM_DISTRIBUTION", "arbitrary"}})));
}

TEST(SlurmTest, PlaceOfThisTaskIsConfirmed) {
  EXPECT_OK(ResolveStep(Step(
      {{"SLURM_PROCID", "3"}, {"SLURM_NODEID", "1"}, {"SLURM_LOCALID", "1"}})));
  EXPECT_OK(ResolveStep(Step({{"SLURM_PROCID", "3"},
                              {"SLURM_NODEID", "0"},
                              {"SLURM_LOCALID", "1"},
                              {"SLURM_DISTRIBUTION", "cyclic"}})));
}

TEST(SlurmTest, JobIdMayBeUnknown) {
  const auto resolved = ResolveStep(Step({{"SLURM_JOB_ID", ""}}));
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->source, "Slurm");
  EXPECT_EQ(resolved->job_id, "");
}

TEST(SlurmTest, StepOfSeveralTasksIsACluster) {
  EXPECT_TRUE(IsSlurmCluster(Step()));
  EXPECT_TRUE(IsSlurmCluster(Step({{"SLURM_STEP_NUM_TASKS", "x"}})));
  EXPECT_FALSE(IsSlurmCluster(Step({{"SLURM_STEP_NUM_TASKS", "1"}})));
  EXPECT_FALSE(IsSlurmCluster(Environment::Of({{"SLURM_JOB_ID", "42"}})));
}

// All tasks of a step compute the same cluster, and each is a different task.
RC_GTEST_PROP(SlurmProperty, TasksAgree, ()) {
  const auto tasks_per_node = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 5)));
  int total = 0;
  std::string hosts;
  std::string counts;
  for (size_t i = 0; i < tasks_per_node.size(); ++i) {
    total += tasks_per_node[i];
    hosts += (i == 0 ? "h" : ",h") + std::to_string(i);
    counts += (i == 0 ? "" : ",") + std::to_string(tasks_per_node[i]);
  }
  RC_PRE(total >= 3);
  const int ps = *rc::gen::inRange(1, total - 1);
  const bool cyclic = *rc::gen::arbitrary<bool>();
  std::set<TaskId> seen;
  ClusterSpec first;
  for (int rank = 0; rank < total; ++rank) {
    const auto resolved =
        ResolveStep(Step({{"SLURM_PROCID", std::to_string(rank)},
                          {"SLURM_STEP_NUM_TASKS", std::to_string(total)},
                          {"SLURM_STEP_NODELIST", hosts},
                          {"SLURM_STEP_TASKS_PER_NODE", counts},
                          {"SLURM_DISTRIBUTION", cyclic ? "cyclic" : "block"},
                          {"CAPSTAN_PS", std::to_string(ps)}}));
    RC_ASSERT(resolved.ok());
    if (rank == 0) first = resolved->spec;
    RC_ASSERT(resolved->spec == first);
    RC_ASSERT(seen.insert(*resolved->task).second);
  }
  RC_ASSERT(first.num_tasks() == total);
  RC_ASSERT(first.num_tasks(Role::kPs) == ps);
}

TEST(SlurmTest, ResolverThrows) {
  try {
    SlurmClusterResolver({}, Environment()).Resolve();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFailedPrecondition);
    EXPECT_THAT(error.what(), HasSubstr("start the program with srun"));
  }
}

class BadStepTest : public ::testing::TestWithParam<Mistake<Variables>> {};

TEST_P(BadStepTest, SaysWhatIsWrong) {
  const auto resolved = ResolveStep(Step(GetParam().input));
  EXPECT_THAT(resolved, Reports(GetParam()));
  EXPECT_THAT(std::string(resolved.status().message()),
              ::testing::StartsWith("Slurm step 42.0: "));
}

using absl::StatusCode::kFailedPrecondition;

INSTANTIATE_TEST_SUITE_P(
    All, BadStepTest,
    ::testing::ValuesIn(std::vector<Mistake<Variables>>{
        {"NoProcId",
         {{"SLURM_PROCID", ""}},
         {"SLURM_PROCID is not set", "srun"},
         kFailedPrecondition},
        {"NoNumTasks",
         {{"SLURM_STEP_NUM_TASKS", ""}},
         {"SLURM_STEP_NUM_TASKS is not set", "srun"},
         kFailedPrecondition},
        {"NoNodeList",
         {{"SLURM_STEP_NODELIST", ""}},
         {"SLURM_STEP_NODELIST is not set", "srun"},
         kFailedPrecondition},
        {"NoTasksPerNode",
         {{"SLURM_STEP_TASKS_PER_NODE", ""}},
         {"SLURM_STEP_TASKS_PER_NODE is not set", "srun"},
         kFailedPrecondition},
        {"NumTasksIsText",
         {{"SLURM_STEP_NUM_TASKS", "five"}},
         {"SLURM_STEP_NUM_TASKS=\"five\"", "a whole number"}},
        {"ProcIdOutOfRange",
         {{"SLURM_PROCID", "5"}},
         {"SLURM_PROCID=\"5\"", "from 0 to 4"}},
        {"NodeList",
         {{"SLURM_STEP_NODELIST", "n[08-10"}},
         {"SLURM_STEP_NODELIST: node list \"n[08-10\"", "column 8"}},
        {"TasksPerNode",
         {{"SLURM_STEP_TASKS_PER_NODE", "2(3)"}},
         {"SLURM_STEP_TASKS_PER_NODE: \"2(3)\""}},
        {"OtherNumberOfNodes",
         {{"SLURM_STEP_NODELIST", "n[08-09]"}},
         {"n[08-09] names 2 nodes", "2(x2),1 counts 3 nodes"},
         kFailedPrecondition},
        {"OtherNumberOfTasks",
         {{"SLURM_STEP_NUM_TASKS", "4"}},
         {"adds up to 5 tasks, but SLURM_STEP_NUM_TASKS=4"},
         kFailedPrecondition},
        {"TooFewTasks",
         {{"SLURM_STEP_NUM_TASKS", "2"},
          {"SLURM_STEP_NODELIST", "a"},
          {"SLURM_STEP_TASKS_PER_NODE", "2"}},
         {"the step has 2 tasks", "at least 3", "srun -n 3"},
         kFailedPrecondition},
        {"TooManyPs",
         {{"CAPSTAN_PS", "4"}},
         {"4 ps (CAPSTAN_PS)", "make 6 tasks", "the step has 5", "srun -n 6"},
         kFailedPrecondition},
        {"OtherSplit",
         {{"CAPSTAN_PS", "2"}, {"CAPSTAN_WORKERS", "3"}},
         {"3 workers (CAPSTAN_WORKERS)", "make 6 tasks", "has 5"},
         kFailedPrecondition},
        {"NoPs", {{"CAPSTAN_PS", "0"}}, {"CAPSTAN_PS=\"0\"", "from 1"}},
        {"TwoEvaluators",
         {{"CAPSTAN_EVALUATORS", "2"}},
         {"CAPSTAN_EVALUATORS=\"2\"", "from 0 to 1"}},
        {"PortIsText",
         {{"CAPSTAN_PORT", "http"}},
         {"CAPSTAN_PORT=\"http\"", "from 1 to 65535"}},
        {"PortTooLarge",
         {{"CAPSTAN_PORT", "65535"}},
         {"the port of ps/0 would be 65536", "below 65535"}},
        {"OtherPlace",
         {{"SLURM_PROCID", "1"}, {"SLURM_NODEID", "1"}, {"SLURM_LOCALID", "0"}},
         {"task 1 runs on node 1 as its task 0",
          "a block distribution puts it on node 0 as its task 1",
          "--distribution=block"},
         kFailedPrecondition},
        {"Plane",
         {{"SLURM_DISTRIBUTION", "plane=2"}},
         {"SLURM_DISTRIBUTION=plane=2", "--distribution=block or cyclic"},
         kFailedPrecondition},
        {"SameNodeTwice",
         {{"SLURM_STEP_NODELIST", "a,a,b"}},
         {"have the same address a:8888"}},
    }),
    MistakeName());

}  // namespace
}  // namespace capstan
