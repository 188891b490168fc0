// Workers that join a running job, leave it and come again, in simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "membership/sim_job.h"
#include "testing/status_matchers.h"

namespace capstan::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A job of one worker and one server that runs, for a few seeds.
class JoinTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    job_.roster_options.max_tasks = 5;
    job_.StartAll();
    ASSERT_TRUE(job_.RunUntil(
        [this] { return job_.coordinator().awaited.has_value(); }));
    ASSERT_OK(*job_.coordinator().awaited);
    job_.coordinator().changes.clear();
  }
  void AwaitState(const std::string& task, TaskState state) {
    ASSERT_TRUE(job_.RunUntil([&] { return job_.Entry(task).state == state; }))
        << task << " is " << TaskStateName(job_.Entry(task).state);
  }
  // Whether the coordinator knows of such a task at all.
  bool IsListed(const std::string& task) {
    return job_.Entry(task).task == task;
  }
  absl::StatusOr<TaskId> Join(const std::string& address) {
    return job_.coordinator().roster->Join(address);
  }

  SimJob job_{GetParam(), 1, 1};
};

INSTANTIATE_TEST_SUITE_P(Seeds, JoinTest, ::testing::Range(1ul, 11ul));

TEST_P(JoinTest, AWorkerJoinsARunningJob) {
  job_.StartJoining("extra");
  AwaitState("worker/1", TaskState::kHealthy);
  EXPECT_EQ(job_.JoinedAs("extra"), "worker/1");
  EXPECT_EQ(job_.Entry("worker/1").address, "extra:7077");
  EXPECT_EQ(job_.Entry("worker/1").report.task, "worker/1");
  EXPECT_THAT(job_.Log(), HasSubstr("worker/1 at extra:7077 joins the job"));
  EXPECT_THAT(job_.coordinator().changes,
              ElementsAre("worker/1 missing", "worker/1 healthy"));
  // By role and index, whoever came when.
  std::vector<std::string> order;
  for (const TaskEntry& entry : job_.coordinator().report.tasks) {
    order.push_back(entry.task);
  }
  EXPECT_THAT(order, ElementsAre("worker/0", "worker/1", "ps/0"));
  job_.End();
  ASSERT_TRUE(job_.RunUntil([&] { return job_.Ended("extra").has_value(); }));
  EXPECT_OK(*job_.Ended("extra"));
}

TEST_P(JoinTest, OneThatLeavesIsForgotten) {
  job_.StartJoining("extra");
  AwaitState("worker/1", TaskState::kHealthy);
  job_.world().Crash(job_.node("extra"), SimCrash::kProcess);
  AwaitState("worker/1", TaskState::kUnreachable);
  job_.RunFor(55 * kSecond);
  EXPECT_TRUE(IsListed("worker/1"));
  ASSERT_TRUE(job_.RunUntil([&] { return !IsListed("worker/1"); }));
  EXPECT_THAT(job_.Log(), HasSubstr("worker/1 at extra:7077 has left the job"));
  EXPECT_EQ(job_.coordinator().changes.back(), "worker/1 missing");
  // The others are not forgotten, however long they are away.
  job_.world().Crash(job_.node("worker/0"), SimCrash::kProcess);
  job_.RunFor(100 * kSecond);
  EXPECT_TRUE(IsListed("worker/0"));
}

TEST_P(JoinTest, OneThatIsBackSoonIsTheSame) {
  job_.StartJoining("extra");
  AwaitState("worker/1", TaskState::kHealthy);
  job_.world().Crash(job_.node("extra"), SimCrash::kProcess);
  AwaitState("worker/1", TaskState::kUnreachable);
  job_.world().Restart(job_.node("extra"));
  AwaitState("worker/1", TaskState::kRestarted);
  EXPECT_EQ(job_.JoinedAs("extra"), "worker/1");
  job_.RunFor(100 * kSecond);
  EXPECT_EQ(job_.Entry("worker/1").state, TaskState::kRestarted);
}

TEST_P(JoinTest, OneThatIsBackLateIsAnother) {
  job_.StartJoining("extra");
  AwaitState("worker/1", TaskState::kHealthy);
  job_.world().Crash(job_.node("extra"), SimCrash::kProcess);
  ASSERT_TRUE(job_.RunUntil([&] { return !IsListed("worker/1"); }));
  job_.world().Restart(job_.node("extra"));
  AwaitState("worker/2", TaskState::kHealthy);
  EXPECT_EQ(job_.JoinedAs("extra"), "worker/2");
  EXPECT_FALSE(IsListed("worker/1"));
}

TEST_P(JoinTest, ALostWorkerOfTheStartMayJoinAgain) {
  job_.world().Crash(job_.node("worker/0"), SimCrash::kProcess);
  AwaitState("worker/0", TaskState::kUnreachable);
  EXPECT_THAT(Join("WORKER0:07077"), IsOkAndHolds(TaskId{Role::kWorker, 0}));
  job_.world().Restart(job_.node("worker/0"));
  AwaitState("worker/0", TaskState::kRestarted);
}

TEST_P(JoinTest, OneThatNeverComesIsForgotten) {
  ASSERT_OK(Join("nowhere:7077"));
  EXPECT_TRUE(IsListed("worker/1"));
  job_.RunFor(50 * kSecond);
  // It says that it comes after all.
  ASSERT_OK(Join("nowhere:7077"));
  job_.RunFor(50 * kSecond);
  EXPECT_TRUE(IsListed("worker/1"));
  ASSERT_TRUE(job_.RunUntil([&] { return !IsListed("worker/1"); }));
}

// Both ways, or only the answers: it asks again, and there is one of it.
TEST_P(JoinTest, JoinsUnderPartition) {
  SimNode& chief = job_.node("chief/0");
  job_.StartJoining("extra");
  SimNode& extra = job_.node("extra");
  job_.world().Partition(chief, extra);
  const bool both = GetParam() % 2 == 0;
  if (both) job_.world().Partition(extra, chief);
  job_.RunFor(10 * kSecond);
  EXPECT_EQ(job_.JoinedAs("extra"), "");
  job_.world().Heal(chief, extra);
  if (both) job_.world().Heal(extra, chief);
  AwaitState("worker/1", TaskState::kHealthy);
  EXPECT_EQ(job_.JoinedAs("extra"), "worker/1");
  job_.RunFor(100 * kSecond);
  EXPECT_FALSE(IsListed("worker/2"));
  EXPECT_EQ(job_.Entry("worker/1").state, TaskState::kHealthy);
}

TEST_P(JoinTest, CutOffForAWhileItStays) {
  job_.StartJoining("extra");
  AwaitState("worker/1", TaskState::kHealthy);
  job_.world().Partition(job_.node("chief/0"), job_.node("extra"));
  AwaitState("worker/1", TaskState::kSilent);
  job_.RunFor(40 * kSecond);
  job_.world().Heal(job_.node("chief/0"), job_.node("extra"));
  AwaitState("worker/1", TaskState::kHealthy);
  EXPECT_FALSE(job_.Ended("extra").has_value());
}

TEST_P(JoinTest, AnAddressInUseIsRefused) {
  EXPECT_THAT(Join("worker0:7077"),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("worker/0 of this job is at worker0:7077")));
  EXPECT_THAT(Join("ps0:7077"), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(Join("chief0:7077"), StatusIs(absl::StatusCode::kAlreadyExists));
  // A server that is away is no worker.
  job_.world().Crash(job_.node("ps/0"), SimCrash::kProcess);
  AwaitState("ps/0", TaskState::kUnreachable);
  EXPECT_THAT(Join("ps0:7077"), StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_P(JoinTest, WhatIsNoAddressIsRefused) {
  for (const std::string& address :
       {std::string(), std::string("here"), std::string("a:1\nforged"),
        std::string("a:0"), "inproc:" + std::string(1'000, 'x')}) {
    EXPECT_THAT(Join(address), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_FALSE(IsListed("worker/1"));
}

TEST_P(JoinTest, AFullJobIsSaidSo) {
  // Chief, worker and server are there, and 5 may be.
  job_.StartJoining("one");
  AwaitState("worker/1", TaskState::kHealthy);
  job_.StartJoining("two");
  AwaitState("worker/2", TaskState::kHealthy);
  job_.StartJoining("three");
  ASSERT_TRUE(
      job_.RunUntil([&] { return job_.TurnedAway("three").has_value(); }));
  EXPECT_THAT(*job_.TurnedAway("three"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("the job is full: it has 5 tasks")));
  // Who leaves makes room.
  job_.world().Crash(job_.node("one"), SimCrash::kProcess);
  ASSERT_TRUE(job_.RunUntil([&] { return !IsListed("worker/1"); }));
  job_.StartJoining("four");
  AwaitState("worker/3", TaskState::kHealthy);
}

TEST_P(JoinTest, NobodyJoinsAJobThatIsOver) {
  Roster& roster = *job_.coordinator().roster;
  absl::Status refused;
  job_.roster_options = {};
  job_.End();
  ASSERT_TRUE(job_.RunUntil([&] {
    if (job_.coordinator().roster == nullptr) return true;
    if (!job_.Ended("ps/0").has_value()) return false;
    refused = roster.Join("extra:7077").status();
    return true;
  }));
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("the job is over")));
}

TEST_P(JoinTest, NobodyWaitsForOneThatJoins) {
  SimJob job(GetParam(), 1, 1);
  job.Start("chief/0");
  job.RunFor(kSecond);
  ASSERT_OK(job.coordinator().roster->Join("nowhere:7077"));
  job.Start("ps/0");
  job.Start("worker/0");
  ASSERT_TRUE(
      job.RunUntil([&] { return job.coordinator().awaited.has_value(); }));
  EXPECT_OK(*job.coordinator().awaited);
  EXPECT_EQ(job.Entry("worker/1").state, TaskState::kMissing);
}

}  // namespace
}  // namespace capstan::testing
