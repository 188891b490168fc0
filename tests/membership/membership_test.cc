// Who is in the job, whatever happens to its tasks: the real Member and Roster
// over the real wire, in simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "membership/sim_job.h"
#include "testing/status_matchers.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Two workers and two servers, for a few seeds.
class MembershipTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void StartHealthy() {
    job_.StartAll();
    AwaitAll();
  }
  void AwaitAll() {
    ASSERT_TRUE(job_.RunUntil(
        [this] { return job_.coordinator().awaited.has_value(); }));
    ASSERT_OK(*job_.coordinator().awaited);
  }
  bool AllEnded() {
    for (const char* task : {"ps/0", "ps/1", "worker/0", "worker/1"}) {
      if (!job_.Ended(task)) return false;
    }
    return true;
  }
  MonotonicTime Now() { return job_.world().clock().Now(); }

  SimJob job_{GetParam(), 2, 2};
};

INSTANTIATE_TEST_SUITE_P(Seeds, MembershipTest, ::testing::Range(1ul, 21ul));

TEST_P(MembershipTest, AllAreThere) {
  StartHealthy();
  for (const char* task : {"ps/0", "ps/1", "worker/0", "worker/1"}) {
    const TaskEntry entry = job_.Entry(task);
    EXPECT_EQ(entry.state, TaskState::kHealthy) << task;
    EXPECT_EQ(entry.report.task, task);
    EXPECT_EQ(entry.restarts, 0u);
  }
  EXPECT_EQ(job_.coordinator_term().term, 1u);
}

TEST_P(MembershipTest, TasksComeUpInAnyOrder) {
  job_.Start("chief/0");
  job_.RunFor(3 * kSecond);
  job_.Start("worker/1");
  job_.RunFor(3 * kSecond);
  job_.Start("ps/0");
  job_.Start("ps/1");
  // It has said for whom it waits.
  EXPECT_THAT(job_.Log(), HasSubstr("still waiting (5 s) for 3 of 4 tasks: "));
  EXPECT_THAT(job_.Log(), HasSubstr("ps/0 at sim:ps0:7077: cannot connect"));
  job_.RunFor(30 * kSecond);
  EXPECT_FALSE(job_.coordinator().awaited.has_value());
  job_.Start("worker/0");
  AwaitAll();
}

TEST_P(MembershipTest, MissingTasksAreListed) {
  job_.Start("chief/0");
  job_.Start("ps/0");
  job_.Start("worker/0");
  ASSERT_TRUE(
      job_.RunUntil([this] { return job_.coordinator().awaited.has_value(); }));
  EXPECT_THAT(*job_.coordinator().awaited,
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("2 of 4 tasks"), HasSubstr("60 s"),
                             HasSubstr("worker/1 at sim:worker1:7077"),
                             HasSubstr("ps/1 at sim:ps1:7077"),
                             Not(HasSubstr("worker/0")))));
}

TEST_P(MembershipTest, TaskOfAnotherJobIsNotWaitedFor) {
  job_.job_of["ps/1"] = "another";
  const MonotonicTime start = Now();
  job_.StartAll();
  ASSERT_TRUE(
      job_.RunUntil([this] { return job_.coordinator().awaited.has_value(); }));
  EXPECT_THAT(*job_.coordinator().awaited,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("does not belong to job 'job'"),
                             Not(HasSubstr("'another'")))));
  EXPECT_LT(Now() - start, 5 * kSecond);
}

TEST_P(MembershipTest, KilledTaskIsShownAndComesBackAsAnother) {
  StartHealthy();
  const uint64_t before = job_.Entry("worker/1").report.incarnation;
  job_.world().Crash(job_.node("worker/1"), SimCrash::kProcess);
  job_.RunFor(2 * kSecond);
  EXPECT_EQ(job_.Entry("worker/1").state, TaskState::kUnreachable);
  EXPECT_EQ(job_.Entry("worker/0").state, TaskState::kHealthy);
  EXPECT_THAT(job_.Log(), HasSubstr("worker/1 is unreachable"));
  job_.world().Restart(job_.node("worker/1"));
  job_.RunFor(2 * kSecond);
  const TaskEntry entry = job_.Entry("worker/1");
  EXPECT_EQ(entry.state, TaskState::kRestarted);
  EXPECT_EQ(entry.restarts, 1u);
  EXPECT_NE(entry.report.incarnation, before);
}

// Also if it comes back so soon that nobody missed it.
TEST_P(MembershipTest, QuickRestartIsNoticed) {
  StartHealthy();
  job_.world().Crash(job_.node("ps/0"), SimCrash::kProcess);
  job_.world().Restart(job_.node("ps/0"));
  job_.RunFor(2 * kSecond);
  EXPECT_EQ(job_.Entry("ps/0").state, TaskState::kRestarted);
  EXPECT_EQ(job_.Entry("ps/0").restarts, 1u);
}

TEST_P(MembershipTest, HungTaskIsShownAndIsTheSameAfterwards) {
  StartHealthy();
  job_.world().Hang(job_.node("ps/1"));
  job_.RunFor(2 * kSecond);
  EXPECT_EQ(job_.Entry("ps/1").state, TaskState::kSilent);
  job_.RunFor(28 * kSecond);
  const TaskEntry entry = job_.Entry("ps/1");
  EXPECT_EQ(entry.state, TaskState::kSilent);
  EXPECT_GE(entry.since_ms, 28'000u);
  EXPECT_LE(entry.since_ms, 30'000u);
  job_.world().Resume(job_.node("ps/1"));
  job_.RunFor(2 * kSecond);
  EXPECT_EQ(job_.Entry("ps/1").state, TaskState::kHealthy);
  EXPECT_EQ(job_.Entry("ps/1").restarts, 0u);
}

// Nobody else was stopped, so nobody is taken for dead, however long it was.
TEST_P(MembershipTest, PausedCoordinatorFindsEverybodyThere) {
  StartHealthy();
  for (const int seconds : {2, 10, 30, 50}) {
    job_.coordinator().changes.clear();
    job_.world().Hang(job_.node("chief/0"));
    job_.RunFor(seconds * kSecond);
    job_.world().Resume(job_.node("chief/0"));
    job_.RunFor(3 * kSecond);
    EXPECT_THAT(job_.coordinator().changes, IsEmpty()) << seconds << " s";
    EXPECT_FALSE(job_.Ended("ps/0").has_value());
  }
}

// A machine that sleeps for an hour stops all of them.
TEST_P(MembershipTest, PausedJobContinues) {
  StartHealthy();
  const std::vector<std::string> all = {"chief/0", "ps/0", "ps/1", "worker/0",
                                        "worker/1"};
  for (const std::string& task : all) job_.world().Hang(job_.node(task));
  job_.RunFor(3600 * kSecond);
  for (const std::string& task : all) job_.world().Resume(job_.node(task));
  job_.RunFor(5 * kSecond);
  for (const char* task : {"ps/0", "ps/1", "worker/0", "worker/1"}) {
    EXPECT_EQ(job_.Entry(task).state, TaskState::kHealthy) << task;
    EXPECT_FALSE(job_.Ended(task).has_value()) << task;
  }
}

// Time in which the coordinator was stopped is not held against a task.
TEST_P(MembershipTest, SilenceIsCountedWhileTheCoordinatorRuns) {
  StartHealthy();
  job_.world().Hang(job_.node("ps/1"));
  job_.RunFor(5 * kSecond);
  job_.world().Hang(job_.node("chief/0"));
  job_.RunFor(40 * kSecond);
  job_.world().Resume(job_.node("chief/0"));
  job_.RunFor(5 * kSecond);
  const TaskEntry entry = job_.Entry("ps/1");
  EXPECT_EQ(entry.state, TaskState::kSilent);
  EXPECT_GE(entry.since_ms, 8'000u);
  EXPECT_LE(entry.since_ms, 13'000u);
}

// A refused connection proves that a process has ended.
TEST_P(MembershipTest, KilledTaskIsShownAtOnce) {
  StartHealthy();
  job_.world().Crash(job_.node("ps/1"), SimCrash::kProcess);
  job_.RunFor(kSecond / 2);
  EXPECT_EQ(job_.Entry("ps/1").state, TaskState::kUnreachable);
  // So does one of a process that was silent before.
  job_.world().Hang(job_.node("ps/0"));
  job_.RunFor(2 * kSecond);
  EXPECT_EQ(job_.Entry("ps/0").state, TaskState::kSilent);
  job_.world().Crash(job_.node("ps/0"), SimCrash::kProcess);
  job_.RunFor(2 * kSecond);
  EXPECT_EQ(job_.Entry("ps/0").state, TaskState::kUnreachable);
}

TEST_P(MembershipTest, ChangesAreObserved) {
  StartHealthy();
  EXPECT_THAT(job_.coordinator().changes,
              UnorderedElementsAre("ps/0 healthy", "ps/1 healthy",
                                   "worker/0 healthy", "worker/1 healthy"));
  job_.coordinator().changes.clear();
  job_.world().Hang(job_.node("ps/1"));
  job_.RunFor(2 * kSecond);
  job_.world().Resume(job_.node("ps/1"));
  job_.RunFor(2 * kSecond);
  job_.world().Crash(job_.node("worker/0"), SimCrash::kProcess);
  job_.RunFor(2 * kSecond);
  job_.world().Restart(job_.node("worker/0"));
  job_.RunFor(2 * kSecond);
  // So soon that nobody missed it.
  job_.world().Crash(job_.node("worker/0"), SimCrash::kProcess);
  job_.world().Restart(job_.node("worker/0"));
  job_.RunFor(2 * kSecond);
  const std::vector<std::string>& changes = job_.coordinator().changes;
  ASSERT_GE(changes.size(), 5u);
  EXPECT_EQ(changes[0], "ps/1 silent");
  EXPECT_EQ(changes[1], "ps/1 healthy");
  EXPECT_EQ(changes[2], "worker/0 unreachable");
  EXPECT_EQ(changes[3], "worker/0 restarted");
  // The connection may be seen to break in between.
  EXPECT_EQ(changes.back(), "worker/0 restarted");
  EXPECT_LE(changes.size(), 6u);
}

TEST_P(MembershipTest, LostMachineIsShown) {
  StartHealthy();
  job_.world().Crash(job_.node("ps/1"), SimCrash::kMachine);
  job_.RunFor(2 * kSecond);
  EXPECT_EQ(job_.Entry("ps/1").state, TaskState::kSilent);
}

TEST_P(MembershipTest, CutOffTaskIsShownAndHeals) {
  StartHealthy();
  job_.world().Partition(job_.node("worker/0"), job_.node("chief/0"));
  job_.RunFor(2 * kSecond);
  EXPECT_EQ(job_.Entry("worker/0").state, TaskState::kSilent);
  job_.world().Heal(job_.node("worker/0"), job_.node("chief/0"));
  ASSERT_TRUE(job_.RunUntil(
      [this] { return job_.Entry("worker/0").state == TaskState::kHealthy; }));
}

TEST_P(MembershipTest, CutOffCoordinatorFindsEverybodyThere) {
  StartHealthy();
  const std::vector<std::string> others = {"ps/0", "ps/1", "worker/0",
                                           "worker/1"};
  SimNode& chief = job_.node("chief/0");
  for (const std::string& task : others) {
    job_.world().Partition(chief, job_.node(task));
    job_.world().Partition(job_.node(task), chief);
  }
  job_.RunFor(30 * kSecond);
  for (const std::string& task : others) {
    EXPECT_EQ(job_.Entry(task).state, TaskState::kSilent) << task;
    job_.world().Heal(chief, job_.node(task));
    job_.world().Heal(job_.node(task), chief);
  }
  job_.RunFor(10 * kSecond);
  for (const std::string& task : others) {
    EXPECT_EQ(job_.Entry(task).state, TaskState::kHealthy) << task;
    EXPECT_FALSE(job_.Ended(task).has_value()) << task;
  }
}

TEST_P(MembershipTest, EndOfTheJobEndsAllTasks) {
  StartHealthy();
  const MonotonicTime start = Now();
  job_.End();
  ASSERT_TRUE(job_.RunUntil([this] { return AllEnded(); }));
  EXPECT_LE(Now() - start, 2 * kSecond);
  EXPECT_OK(*job_.Ended("ps/0"));
  EXPECT_OK(*job_.Ended("worker/1"));
  job_.RunFor(2 * kSecond);
  ASSERT_TRUE(job_.coordinator().told.has_value());
  EXPECT_OK(*job_.coordinator().told);
}

TEST_P(MembershipTest, WhoCannotBeToldIsNamed) {
  StartHealthy();
  job_.world().Hang(job_.node("ps/1"));
  job_.End();
  ASSERT_TRUE(
      job_.RunUntil([this] { return job_.coordinator().told.has_value(); }));
  EXPECT_THAT(*job_.coordinator().told,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ps/1")));
}

TEST_P(MembershipTest, TasksGiveUpACoordinatorThatStaysAway) {
  StartHealthy();
  const MonotonicTime start = Now();
  job_.world().Crash(job_.node("chief/0"), SimCrash::kProcess);
  ASSERT_TRUE(job_.RunUntil([this] { return AllEnded(); }));
  EXPECT_GE(Now() - start, 59 * kSecond);
  EXPECT_LE(Now() - start, 62 * kSecond);
  EXPECT_THAT(*job_.Ended("ps/0"), StatusIs(absl::StatusCode::kUnavailable,
                                            HasSubstr("for 60 s; giving up")));
  EXPECT_THAT(job_.Log(), HasSubstr("for 2 s; will wait another 58 s for it"));
}

TEST_P(MembershipTest, CoordinatorComesBackInTheNextTerm) {
  StartHealthy();
  job_.world().Crash(job_.node("chief/0"), SimCrash::kProcess);
  job_.RunFor(20 * kSecond);
  job_.coordinator() = {};
  job_.world().Restart(job_.node("chief/0"));
  AwaitAll();
  EXPECT_EQ(job_.coordinator_term().term, 2u);
  EXPECT_THAT(job_.Log(), HasSubstr("the coordinator is back"));
  job_.RunFor(100 * kSecond);
  EXPECT_FALSE(job_.Ended("ps/0").has_value());
  EXPECT_EQ(job_.Entry("ps/0").state, TaskState::kHealthy);
}

// A task that knows of no coordinator obeys the new one before it has heard of
// the one before.
TEST_P(MembershipTest, CoordinatorComesBackTogetherWithATask) {
  StartHealthy();
  for (uint64_t i = 0; i < 3; ++i) {
    job_.world().Crash(job_.node("chief/0"), SimCrash::kProcess);
    job_.world().Crash(job_.node("ps/1"), SimCrash::kProcess);
    for (const char* task : {"ps/0", "worker/0", "worker/1"}) {
      job_.world().Hang(job_.node(task));
    }
    job_.coordinator() = {};
    job_.world().Restart(job_.node("ps/1"));
    job_.world().Restart(job_.node("chief/0"));
    ASSERT_TRUE(job_.RunUntil([this] {
      return job_.coordinator().roster != nullptr &&
             job_.Entry("ps/1").state == TaskState::kHealthy;
    }));
    for (const char* task : {"ps/0", "worker/0", "worker/1"}) {
      job_.world().Resume(job_.node(task));
    }
    AwaitAll();
    EXPECT_FALSE(job_.coordinator().deposed.has_value());
    EXPECT_EQ(job_.Entry("ps/0").report.coordinator_term,
              job_.coordinator_term());
    // Servers tell the two apart by the term alone.
    EXPECT_EQ(job_.coordinator_term().term, i + 2);
    job_.RunFor(5 * kSecond);
    EXPECT_FALSE(job_.coordinator().deposed.has_value());
  }
}

// A server and a coordinator that are killed together, and only the latter
// comes back; the other server has variables.
TEST_P(MembershipTest, JobThatHasBegunGoesOnWithoutAServerIfItMay) {
  job_.member_options.add_holdings = [](TaskReport& report) {
    report.generation = 1;
  };
  for (const bool may : {false, true}) {
    job_.roster_options.begin_without_servers = may;
    job_.roster_options.absent_timeout = 20 * kSecond;
    if (!may) {
      StartHealthy();
      job_.world().Crash(job_.node("ps/1"), SimCrash::kProcess);
    }
    job_.world().Crash(job_.node("chief/0"), SimCrash::kProcess);
    job_.coordinator() = {};
    job_.world().Restart(job_.node("chief/0"));
    const MonotonicTime start = Now();
    ASSERT_TRUE(job_.RunUntil(
        [this] { return job_.coordinator().awaited.has_value(); }));
    if (may) {
      EXPECT_OK(*job_.coordinator().awaited);
      EXPECT_LT(Now() - start, 30 * kSecond);
    } else {
      EXPECT_THAT(*job_.coordinator().awaited,
                  StatusIs(absl::StatusCode::kDeadlineExceeded,
                           HasSubstr("1 of 4 tasks")));
    }
  }
  EXPECT_THAT(job_.Log(), HasSubstr("starting without 1 of 4 tasks"));
}

TEST_P(MembershipTest, JobThatHasBegunStartsWithTheWorkersThatAreThere) {
  job_.member_options.add_holdings = [](TaskReport& report) {
    report.generation = 1;
  };
  StartHealthy();
  job_.world().Crash(job_.node("chief/0"), SimCrash::kProcess);
  job_.world().Crash(job_.node("worker/0"), SimCrash::kProcess);
  job_.coordinator() = {};
  job_.world().Restart(job_.node("chief/0"));
  const MonotonicTime start = Now();
  AwaitAll();
  EXPECT_LT(Now() - start, kSecond);
  EXPECT_THAT(job_.Log(), HasSubstr("starting without 1 of 4 tasks, which can "
                                    "come back later: worker/0 at"));
  // It is used when it comes.
  job_.world().Restart(job_.node("worker/0"));
  ASSERT_TRUE(job_.RunUntil(
      [this] { return job_.Entry("worker/0").state == TaskState::kHealthy; }));
  EXPECT_EQ(job_.Entry("worker/0").report.coordinator_term,
            job_.coordinator_term());
  // All that answer are waited for.
  job_.world().Crash(job_.node("chief/0"), SimCrash::kProcess);
  job_.coordinator() = {};
  job_.world().Restart(job_.node("chief/0"));
  AwaitAll();
  EXPECT_EQ(job_.Entry("worker/0").state, TaskState::kHealthy);
  EXPECT_EQ(job_.Entry("worker/1").state, TaskState::kHealthy);
  // But it does not start without any.
  job_.world().Crash(job_.node("chief/0"), SimCrash::kProcess);
  job_.world().Crash(job_.node("worker/0"), SimCrash::kProcess);
  job_.world().Crash(job_.node("worker/1"), SimCrash::kProcess);
  job_.coordinator() = {};
  job_.world().Restart(job_.node("chief/0"));
  ASSERT_TRUE(
      job_.RunUntil([this] { return job_.coordinator().awaited.has_value(); }));
  EXPECT_THAT(
      *job_.coordinator().awaited,
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("2 of 4 tasks")));
}

// There is never a moment at which all are there.
TEST_P(MembershipTest, JobThatHasBegunStartsWhileWorkersAreKilledOverAndOver) {
  job_.member_options.add_holdings = [](TaskReport& report) {
    report.generation = 1;
  };
  StartHealthy();
  job_.world().Crash(job_.node("chief/0"), SimCrash::kProcess);
  job_.world().Crash(job_.node("worker/0"), SimCrash::kProcess);
  job_.coordinator() = {};
  job_.world().Restart(job_.node("chief/0"));
  const MonotonicTime start = Now();
  const char* down = "worker/0";
  const char* up = "worker/1";
  while (!job_.coordinator().awaited && Now() - start < 60 * kSecond) {
    job_.RunFor(std::chrono::milliseconds(300));
    job_.world().Crash(job_.node(up), SimCrash::kProcess);
    job_.world().Restart(job_.node(down));
    std::swap(up, down);
  }
  ASSERT_TRUE(job_.coordinator().awaited.has_value());
  EXPECT_OK(*job_.coordinator().awaited);
  EXPECT_LT(Now() - start, 3 * kSecond);
}

TEST_P(MembershipTest, JobThatHasNotBegunWaitsForAll) {
  job_.roster_options.begin_without_servers = true;
  for (const char* task : {"ps/0", "worker/0", "worker/1", "chief/0"}) {
    job_.Start(task);
  }
  ASSERT_TRUE(
      job_.RunUntil([this] { return job_.coordinator().awaited.has_value(); }));
  EXPECT_THAT(
      *job_.coordinator().awaited,
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("1 of 4 tasks")));
}

TEST_P(MembershipTest, TaskThatNobodyCallsGivesUp) {
  job_.member_options.start_timeout = 30 * kSecond;
  job_.Start("ps/0");
  ASSERT_TRUE(job_.RunUntil([this] { return job_.Ended("ps/0").has_value(); }));
  EXPECT_THAT(*job_.Ended("ps/0"), StatusIs(absl::StatusCode::kUnavailable,
                                            HasSubstr("within 30 s")));
  EXPECT_THAT(job_.Log(), HasSubstr("waiting for the chief's first call"));
}

TEST_P(MembershipTest, TaskThatTurnedItsCallersAwaySaysWhy) {
  job_.member_options.start_timeout = 30 * kSecond;
  job_.member_options.turned_away_callers = [] {
    return "chief/0: no job token";
  };
  job_.Start("ps/0");
  ASSERT_TRUE(job_.RunUntil([this] { return job_.Ended("ps/0").has_value(); }));
  EXPECT_THAT(*job_.Ended("ps/0"),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("within 30 s"),
                             HasSubstr("chief/0: no job token"))));
  EXPECT_THAT(job_.Log(), HasSubstr("s left); chief/0: no job token"));
}

}  // namespace
}  // namespace capstan::testing
