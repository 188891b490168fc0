#include "capstan/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

#include "capstan/error.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

TEST(LocalClusterTest, AllTasksAreHealthy) {
  LocalCluster local(3, 2);
  const std::vector<TaskInfo> tasks = local.cluster().Tasks();
  ASSERT_EQ(tasks.size(), 6u);
  EXPECT_EQ(tasks.front().task, (TaskId{Role::kChief, 0}));
  for (const TaskInfo& task : tasks) {
    EXPECT_EQ(task.state, MemberState::kHealthy) << task.task.ToString();
    EXPECT_EQ(task.restarts, 0);
    EXPECT_NE(task.incarnation, 0u);
  }
  EXPECT_EQ(local.cluster().term(), 1u);
  EXPECT_EQ(local.cluster().spec().num_tasks(Role::kWorker), 3);
}

TEST(LocalClusterTest, SeveralDoNotMeet) {
  LocalCluster one(1, 1);
  LocalCluster two(1, 1);
  EXPECT_EQ(one.cluster().term(), 1u);
  EXPECT_EQ(two.cluster().term(), 1u);
  EXPECT_NE(one.cluster().Tasks()[1].incarnation,
            two.cluster().Tasks()[1].incarnation);
}

TEST(LocalClusterTest, NeedsOneOfEach) {
  EXPECT_THROW(LocalCluster(0, 1), Error);
  EXPECT_THROW(LocalCluster(1, 0), Error);
  EXPECT_THROW(LocalCluster(-1, 1), Error);
  EXPECT_THROW(LocalCluster(100'000, 1), Error);
}

TEST(ProgramTest, IsAClusterOfItsOwnWithoutConfiguration) {
  int called = 0;
  EXPECT_EQ(Program(Environment()).Run([&](Cluster& cluster) {
    ++called;
    EXPECT_EQ(cluster.Tasks().size(), 4u);
  }),
            0);
  EXPECT_EQ(called, 1);
}

TEST(ProgramTest, ExceptionOfTheBodyIsSaid) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Program(Environment()).Run([](Cluster&) {
    throw std::runtime_error("out of ideas");
  }),
            1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("\ncapstan: out of ideas\n"));
}

TEST(ProgramTest, ThingsThatAreNoExceptionsAreCaughtToo) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Program(Environment()).Run([](Cluster&) { throw 7; }), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("no exception"));
}

TEST(ProgramTest, WrongConfigurationIsSaidInOneLine) {
  ::testing::internal::CaptureStderr();
  const Environment wrong = Environment::Of({{"TF_CONFIG", "{"}});
  EXPECT_EQ(Program(wrong).Run([](Cluster&) { FAIL(); }), 1);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("TF_CONFIG"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

ResolvedCluster UnixCluster(TaskId task, const std::string& path) {
  ResolvedCluster cluster;
  cluster.spec = ClusterSpec({{Role::kChief, {"unix:" + path + ".chief"}},
                              {Role::kWorker, {"unix:" + path + ".worker"}},
                              {Role::kPs, {"unix:" + path + ".ps"}}});
  cluster.task = task;
  return cluster;
}

TEST(TaskServerTest, StopEndsJoin) {
  TaskServer server(UnixCluster({Role::kPs, 0}, ::testing::TempDir() + "stop"),
                    Environment::Of({{"CAPSTAN_LOG_LEVEL", "off"}}));
  std::future<void> joined =
      std::async(std::launch::async, [&server] { server.Join(); });
  server.Stop();
  try {
    joined.get();
    FAIL() << "Join returned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    EXPECT_EQ(error.task(), "ps/0");
  }
}

TEST(TaskServerTest, ChiefIsRefused) {
  EXPECT_THROW(
      TaskServer(UnixCluster({Role::kChief, 0}, ::testing::TempDir() + "no"),
                 Environment()),
      Error);
}

TEST(TaskServerTest, OneThatIsNeverJoinedEnds) {
  TaskServer server(UnixCluster({Role::kPs, 0}, ::testing::TempDir() + "end"),
                    Environment::Of({{"CAPSTAN_LOG_LEVEL", "off"}}));
}

}  // namespace
}  // namespace capstan
