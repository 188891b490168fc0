#include "cluster/kubernetes_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
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

// A pod of a job with 2 workers and 1 ps; `more` replaces and adds variables.
Environment Pod(Variables more) {
  Variables variables = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                         {"CAPSTAN_WORKERS", "2"},
                         {"CAPSTAN_PS", "1"}};
  more.merge(variables);
  return Environment::Of(more);
}

absl::StatusOr<ResolvedCluster> ResolvePod(
    const Environment& environment, const KubernetesOptions& options = {}) {
  absl::StatusOr<ResolvedCluster> resolved =
      ReadKubernetes(environment, options);
  CAPSTAN_RETURN_IF_ERROR(resolved.status());
  CAPSTAN_RETURN_IF_ERROR(ValidateResolved(*resolved));
  return resolved;
}

constexpr char kJobSetTable[] =
    "chief/0   ctr-chief-0-0.ctr:7077\n"
    "worker/0  ctr-worker-0-0.ctr:7077\n"
    "worker/1  ctr-worker-0-1.ctr:7077\n"
    "ps/0      ctr-ps-0-0.ctr:7077\n";
constexpr char kSetTable[] =
    "chief/0   ctr-chief-0.ctr:7077\n"
    "worker/0  ctr-worker-0.ctr:7077\n"
    "worker/1  ctr-worker-1.ctr:7077\n"
    "ps/0      ctr-ps-0.ctr:7077\n";

TEST(KubernetesTest, JobSet) {
  const ResolvedCluster resolved =
      KubernetesClusterResolver({}, Pod({{"JOBSET_NAME", "ctr"},
                                         {"REPLICATED_JOB_NAME", "worker"},
                                         {"JOB_COMPLETION_INDEX", "1"},
                                         {"JOB_INDEX", "0"}}))
          .Resolve();
  EXPECT_EQ(resolved.spec.ToTable(), kJobSetTable);
  EXPECT_THAT(resolved.task, Optional(TaskId{Role::kWorker, 1}));
  EXPECT_EQ(resolved.job_id, "ctr");
  EXPECT_EQ(resolved.ToString(),
            "cluster: from Kubernetes, 1 chief, 2 workers, 1 ps; this is "
            "worker/1");
}

TEST(KubernetesTest, JobSetByHostName) {
  const auto resolved = ResolvePod(
      Pod({{"HOSTNAME", "ctr-worker-0-1"}, {"JOB_COMPLETION_INDEX", "1"}}));
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.ToTable(), kJobSetTable);
  EXPECT_THAT(resolved->task, Optional(TaskId{Role::kWorker, 1}));
}

TEST(KubernetesTest, StatefulSet) {
  const auto resolved = ResolvePod(Pod({{"HOSTNAME", "ctr-ps-0"}}));
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.ToTable(), kSetTable);
  EXPECT_THAT(resolved->task, Optional(TaskId{Role::kPs, 0}));
  EXPECT_EQ(resolved->job_id, "ctr");
}

TEST(KubernetesTest, IndexedJob) {
  const auto resolved = ResolvePod(Pod({{"HOSTNAME", "ctr-worker-1"},
                                        {"POD_NAME", "ctr-worker-1-x7k2p"},
                                        {"JOB_COMPLETION_INDEX", "1"}}));
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.ToTable(), kSetTable);
  EXPECT_THAT(resolved->task, Optional(TaskId{Role::kWorker, 1}));
}

// With hostNetwork, HOSTNAME is the node's name.
TEST(KubernetesTest, PodNameIfTheHostNameIsAnothers) {
  const auto job = ResolvePod(Pod({{"HOSTNAME", "node-pool-7"},
                                   {"POD_NAME", "ctr-worker-1-x7k2p"},
                                   {"JOB_COMPLETION_INDEX", "1"}}));
  ASSERT_OK(job);
  EXPECT_THAT(job->task, Optional(TaskId{Role::kWorker, 1}));
  const auto set = ResolvePod(
      Pod({{"HOSTNAME", "node-pool-7"}, {"POD_NAME", "ctr-worker-1"}}));
  ASSERT_OK(set);
  EXPECT_THAT(set->task, Optional(TaskId{Role::kWorker, 1}));
}

TEST(KubernetesTest, NamesWithDashesRolesAndDomains) {
  const auto resolved =
      ResolvePod(Pod({{"HOSTNAME", "my-worker-job-2-ps-0.svc.cluster.local"}}));
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->job_id, "my-worker-job-2");
  EXPECT_THAT(resolved->task, Optional(TaskId{Role::kPs, 0}));
}

TEST(KubernetesTest, NoNameNeedsASubdomain) {
  const auto resolved = ResolvePod(
      Pod({{"HOSTNAME", "worker-1"}, {"CAPSTAN_SUBDOMAIN", "train"}}));
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.task_address({Role::kPs, 0}), "ps-0.train:7077");
  EXPECT_EQ(resolved->job_id, "");
}

TEST(KubernetesTest, Configured) {
  const auto resolved = ResolvePod(Pod({{"HOSTNAME", "ctr-evaluator-0"},
                                        {"CAPSTAN_EVALUATORS", "1"},
                                        {"CAPSTAN_PORT", "8000"},
                                        {"CAPSTAN_SUBDOMAIN", "s.ns.svc"}}));
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.task_address({Role::kEvaluator, 0}),
            "ctr-evaluator-0.s.ns.svc:8000");
}

TEST(KubernetesTest, OptionsWinOverVariables) {
  const auto resolved = ResolvePod(
      Pod({{"HOSTNAME", "ctr-ps-2"}, {"CAPSTAN_PORT", "8000"}}),
      {.counts = {.workers = 1, .ps = 3}, .port = 9000, .subdomain = "x"});
  ASSERT_OK(resolved);
  EXPECT_EQ(resolved->spec.ToString(), "1 chief, 1 worker, 3 ps");
  EXPECT_EQ(resolved->spec.task_address({Role::kPs, 2}), "ctr-ps-2.x:9000");
}

TEST(KubernetesTest, PodWithCountsIsACluster) {
  EXPECT_TRUE(IsKubernetesCluster(Pod({})));
  EXPECT_FALSE(IsKubernetesCluster(Pod({{"CAPSTAN_WORKERS", ""}})));
  EXPECT_FALSE(
      IsKubernetesCluster(Environment::Of({{"CAPSTAN_WORKERS", "2"}})));
}

TEST(KubernetesTest, ResolverThrows) {
  try {
    KubernetesClusterResolver({}, Environment()).Resolve();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFailedPrecondition);
    EXPECT_THAT(error.what(), HasSubstr("Kubernetes: "));
  }
}

class BadPodTest : public ::testing::TestWithParam<Mistake<Variables>> {};

TEST_P(BadPodTest, SaysWhatIsWrong) {
  const auto resolved = ResolvePod(Pod(GetParam().input));
  EXPECT_THAT(resolved, Reports(GetParam()));
  EXPECT_THAT(std::string(resolved.status().message()),
              ::testing::StartsWith("Kubernetes: "));
}

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kOutOfRange;

INSTANTIATE_TEST_SUITE_P(
    All, BadPodTest,
    ::testing::ValuesIn(std::vector<Mistake<Variables>>{
        {"NoName",
         {},
         {"neither HOSTNAME=\"\" nor POD_NAME=\"\"", "NAME-ROLE-INDEX",
          "chief, worker, ps, evaluator"},
         kFailedPrecondition},
        {"OtherRole",
         {{"HOSTNAME", "ctr-server-0"}},
         {"HOSTNAME=\"ctr-server-0\"", "after its role"},
         kFailedPrecondition},
        {"Deployment",
         {{"HOSTNAME", "ctr-worker-5d9c7b-x7k2p"}},
         {"\"ctr-worker-5d9c7b-x7k2p\""},
         kFailedPrecondition},
        {"ReplicasInAJobSet",
         {{"HOSTNAME", "ctr-worker-1-0"}},
         {"\"ctr-worker-1-0\"", "NAME-ROLE-0-INDEX"},
         kFailedPrecondition},
        {"JobIndex",
         {{"JOBSET_NAME", "ctr"},
          {"REPLICATED_JOB_NAME", "worker"},
          {"JOB_COMPLETION_INDEX", "0"},
          {"JOB_INDEX", "1"}},
         {"JOB_INDEX=1", "`replicas: 1`", "completions"},
         kFailedPrecondition},
        {"ReplicatedJobOfOtherName",
         {{"JOBSET_NAME", "ctr"},
          {"REPLICATED_JOB_NAME", "coordinator"},
          {"JOB_COMPLETION_INDEX", "0"}},
         {"REPLICATED_JOB_NAME: unrecognized task type \"coordinator\"",
          "called \"chief\" here"}},
        {"NoCompletionIndex",
         {{"JOBSET_NAME", "ctr"}, {"REPLICATED_JOB_NAME", "worker"}},
         {"JOB_COMPLETION_INDEX is not set", "Indexed"},
         kFailedPrecondition},
        {"CompletionIndexIsText",
         {{"HOSTNAME", "ctr-ps-0"}, {"JOB_COMPLETION_INDEX", "x"}},
         {"JOB_COMPLETION_INDEX=\"x\""}},
        {"TwoIndices",
         {{"HOSTNAME", "ctr-worker-0"}, {"JOB_COMPLETION_INDEX", "1"}},
         {"this is worker/0, but JOB_COMPLETION_INDEX=1"},
         kFailedPrecondition},
        {"NoWorkers",
         {{"HOSTNAME", "ctr-ps-0"}, {"CAPSTAN_WORKERS", ""}},
         {"CAPSTAN_WORKERS is not set", "in every pod"},
         kFailedPrecondition},
        {"NoPs",
         {{"HOSTNAME", "ctr-ps-0"}, {"CAPSTAN_PS", ""}},
         {"CAPSTAN_PS is not set", "in every pod"},
         kFailedPrecondition},
        {"ZeroPs",
         {{"HOSTNAME", "ctr-ps-0"}, {"CAPSTAN_PS", "0"}},
         {"CAPSTAN_PS=\"0\"", "from 1"}},
        {"NoSubdomain",
         {{"HOSTNAME", "worker-0"}},
         {"CAPSTAN_SUBDOMAIN is not set", "headless Service"},
         kFailedPrecondition},
        {"BadSubdomain",
         {{"HOSTNAME", "ctr-ps-0"}, {"CAPSTAN_SUBDOMAIN", "a b"}},
         {"chief/0: address \"ctr-chief-0.a b:7077\"", "blank"}},
        {"Port",
         {{"HOSTNAME", "ctr-ps-0"}, {"CAPSTAN_PORT", "0"}},
         {"CAPSTAN_PORT=\"0\"", "from 1 to 65535"}},
        {"MorePodsThanCounted",
         {{"HOSTNAME", "ctr-worker-2"}},
         {"worker/2 is not in the cluster", "2 workers (index 0 to 1)"},
         kOutOfRange},
    }),
    MistakeName());

}  // namespace
}  // namespace capstan
