#include "launch/local/local_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capstan/resolver.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Environment EnvironmentOf(const LocalTask& task) {
  std::map<std::string, std::string> variables;
  for (const std::string& entry : task.environment) {
    const size_t equals = entry.find('=');
    variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return Environment::Of(variables);
}

LocalJobOptions Options() {
  LocalJobOptions options;
  options.program = "/bin/train";
  options.arguments = {"train", "--fast"};
  options.job_id = "j1";
  return options;
}

std::vector<std::string> Names(const std::vector<LocalTask>& tasks) {
  std::vector<std::string> names;
  for (const LocalTask& task : tasks) names.push_back(task.id.ToString());
  return names;
}

std::vector<TaskId> Ids(const std::vector<LocalTask>& tasks) {
  std::vector<TaskId> ids;
  for (const LocalTask& task : tasks) ids.push_back(task.id);
  return ids;
}

// Addresses for `count` tasks.
std::vector<std::string> Addresses(int count) {
  std::vector<std::string> addresses;
  for (int i = 0; i < count; ++i) {
    addresses.push_back("unix:/tmp/" + std::to_string(i));
  }
  return addresses;
}

TEST(LocalJobTest, TheChiefIsLast) {
  LocalJobOptions options = Options();
  options.evaluator = true;
  const auto job = PlanLocalJob(options, Addresses(5));
  ASSERT_OK(job);
  EXPECT_THAT(Names(job->tasks), ElementsAre("ps/0", "worker/0", "worker/1",
                                             "evaluator/0", "chief/0"));
  EXPECT_THAT(TasksOf(options), ElementsAreArray(Ids(job->tasks)));
}

TEST(LocalJobTest, OnlyTheChiefSaysThatTheJobIsOver) {
  LocalJobOptions options = Options();
  // From the job that this test runs in.
  options.environment = {"CAPSTAN_OVER_FILE=/other/over"};
  options.over_file = "/run/over";
  const auto job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  for (const LocalTask& task : job->tasks) {
    EXPECT_EQ(EnvironmentOf(task).Get("CAPSTAN_OVER_FILE"),
              task.id.role == Role::kChief ? std::optional("/run/over")
                                           : std::nullopt);
  }
}

TEST(LocalJobTest, EachTaskFindsItselfInItsCluster) {
  LocalJobOptions options = Options();
  options.servers = 2;
  // From the Slurm step that this test runs in, which is not this job.
  options.environment = {"SLURM_JOB_ID=1",    "SLURM_STEP_ID=0",
                         "SLURM_NTASKS=8",    "SLURM_STEP_NUM_TASKS=8",
                         "TF_CONFIG=garbage", "CAPSTAN_TASK=ps/7",
                         "CAPSTAN_CLUSTER=x", "CAPSTAN_CLUSTER_FROM=slurm"};
  const std::vector<std::string> addresses = Addresses(5);
  const auto job = PlanLocalJob(options, addresses);
  ASSERT_OK(job);
  auto address = addresses.begin();
  for (const LocalTask& task : job->tasks) {
    DetectOptions detect;
    detect.environment = EnvironmentOf(task);
    const ResolvedCluster cluster = DetectCluster(detect);
    EXPECT_EQ(cluster.task, task.id);
    EXPECT_EQ(cluster.job_id, "j1");
    EXPECT_EQ(cluster.spec.ToString(), "1 chief, 2 workers, 2 ps");
    EXPECT_EQ(cluster.spec.task_address(task.id), *address++);
    EXPECT_THAT(cluster.warnings, ::testing::IsEmpty());
  }
}

TEST(LocalJobTest, ServersRunTheStockServer) {
  const auto job = PlanLocalJob(Options(), Addresses(4));
  ASSERT_OK(job);
  EXPECT_EQ(job->tasks.front().program, "/proc/self/exe");
  EXPECT_THAT(job->tasks.front().arguments, ElementsAre("capstan", "server"));
  EXPECT_EQ(job->tasks.back().program, "/bin/train");
  EXPECT_THAT(job->tasks.back().arguments, ElementsAre("train", "--fast"));
}

TEST(LocalJobTest, TheEnvironmentIsInherited) {
  LocalJobOptions options = Options();
  options.environment = {"HOME=/root", "CAPSTAN_TLS=/old", "EMPTY="};
  auto job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  EXPECT_THAT(job->tasks.front().environment, Contains("HOME=/root"));
  EXPECT_THAT(job->tasks.front().environment, Contains("EMPTY="));
  EXPECT_THAT(job->tasks.front().environment, Contains("CAPSTAN_TLS=/old"));

  options.tls = "/new";
  job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  EXPECT_THAT(job->tasks.front().environment, Contains("CAPSTAN_TLS=/new"));
  EXPECT_THAT(job->tasks.front().environment,
              Not(Contains("CAPSTAN_TLS=/old")));
}

TEST(LocalJobTest, WorkersShareTheCores) {
  LocalJobOptions options = Options();
  options.cores = 7;
  auto job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  for (const LocalTask& task : job->tasks) {
    for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                             "CAPSTAN_COMPUTE_THREADS"}) {
      const std::optional<std::string> value = EnvironmentOf(task).Get(name);
      if (task.id.role == Role::kWorker) {
        EXPECT_EQ(value, "3") << name;
      } else {
        EXPECT_EQ(value, std::nullopt) << name;
      }
    }
  }
  // At least one core each.
  options.cores = 1;
  job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  EXPECT_THAT(job->tasks[1].environment, Contains("OMP_NUM_THREADS=1"));
}

TEST(LocalJobTest, FunctionsOfAWorkerShareItsCores) {
  LocalJobOptions options = Options();
  options.cores = 8;
  options.environment = {"CAPSTAN_CONCURRENCY=4"};
  auto job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  EXPECT_THAT(job->tasks[1].environment, Contains("OMP_NUM_THREADS=1"));
  options.concurrency = 2;
  job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  EXPECT_THAT(job->tasks[1].environment, Contains("OMP_NUM_THREADS=2"));
  options.concurrency = 0;
  options.environment = {"CAPSTAN_CONCURRENCY=many"};
  job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  EXPECT_THAT(job->tasks[1].environment, Contains("OMP_NUM_THREADS=4"));
}

TEST(LocalJobTest, ProgramsAreToldTheKernels) {
  LocalJobOptions options = Options();
  options.blas_core = "HASWELL";
  const auto job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  for (const LocalTask& task : job->tasks) {
    EXPECT_EQ(EnvironmentOf(task).Get("OPENBLAS_CORETYPE").value_or(""),
              task.id.role == Role::kPs ? "" : "HASWELL");
  }
}

TEST(LocalJobTest, ThreadsThatTheUserChoseStay) {
  LocalJobOptions options = Options();
  options.cores = 8;
  options.environment = {"OMP_NUM_THREADS=6", "CAPSTAN_COMPUTE_THREADS="};
  const auto job = PlanLocalJob(options, Addresses(4));
  ASSERT_OK(job);
  const std::vector<std::string>& worker = job->tasks[1].environment;
  EXPECT_THAT(worker, Contains("OMP_NUM_THREADS=6"));
  EXPECT_THAT(worker, Not(Contains("OMP_NUM_THREADS=4")));
  EXPECT_THAT(worker, Contains("OPENBLAS_NUM_THREADS=4"));
  EXPECT_THAT(worker, Not(Contains("CAPSTAN_COMPUTE_THREADS=4")));
}

TEST(LocalJobTest, RefusesWhatIsNoCluster) {
  LocalJobOptions options = Options();
  options.servers = 0;
  EXPECT_THAT(PlanLocalJob(options, Addresses(3)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ps")));
  EXPECT_THAT(PlanLocalJob(Options(), Addresses(1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("4 tasks, but 1 addresses")));
}

TEST(LocalJobTest, ServersAreToldTheirMemory) {
  LocalJobOptions options = Options();
  options.servers = 2;
  options.server_memory = 1'500'000'000;
  const auto memory_of = [&options](const std::string& name) {
    const auto job = PlanLocalJob(options, Addresses(5));
    for (const LocalTask& task : job->tasks) {
      if (task.id.ToString() == name) {
        return EnvironmentOf(task).Get("CAPSTAN_MEMORY").value_or("none");
      }
    }
    return std::string("no such task");
  };
  EXPECT_EQ(memory_of("ps/0"), "1500");
  EXPECT_EQ(memory_of("ps/1"), "1500");
  EXPECT_EQ(memory_of("worker/0"), "none");
  options.server_memory = 1;
  EXPECT_EQ(memory_of("ps/0"), "1");
  options.environment = {"CAPSTAN_MEMORY=70"};
  EXPECT_EQ(memory_of("ps/0"), "70");
}

}  // namespace
}  // namespace capstan
