// One coordinator at a time: who may take a job over, from whom, and what the
// others are told; in simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "membership/sim_job.h"
#include "testing/status_matchers.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTasks[] = {"ps/0", "ps/1", "worker/0", "worker/1"};

// Two workers, two servers and a second coordinator, for a few seeds.
class TakeoverTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void StartHealthy() {
    job_.StartAll();
    Await("chief/0");
    ASSERT_OK(*job_.coordinator().awaited);
  }
  void Await(const std::string& coordinator) {
    ASSERT_TRUE(job_.RunUntil([&] {
      return job_.coordinator(coordinator).awaited.has_value();
    })) << job_.Log();
  }
  void AwaitDeposed() {
    ASSERT_TRUE(job_.RunUntil(
        [this] { return job_.coordinator().deposed.has_value(); }));
    EXPECT_THAT(*job_.coordinator().deposed,
                StatusIs(absl::StatusCode::kAborted,
                         AllOf(HasSubstr("rival:7077, term 2"),
                               HasSubstr("has taken over"),
                               HasSubstr("this one (term 1)"))));
  }
  // Holds the job, and all tasks obey it.
  void ExpectInCharge(const std::string& coordinator) {
    EXPECT_FALSE(job_.coordinator(coordinator).deposed.has_value());
    EXPECT_OK(*job_.coordinator(coordinator).awaited);
    for (const char* task : kTasks) {
      EXPECT_EQ(job_.Entry(task, coordinator).report.coordinator_term,
                job_.coordinator_term(coordinator))
          << task;
    }
  }
  void ExpectRefused(const std::string& coordinator) {
    EXPECT_THAT(
        *job_.coordinator(coordinator).awaited,
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 AllOf(HasSubstr("this job already has a coordinator at "),
                       HasSubstr(":7077 (term 1), heard "),
                       HasSubstr(" ms ago by "), HasSubstr("stop it first"))));
  }
  MonotonicTime Now() { return job_.world().clock().Now(); }
  SimNode& node(const char* name) { return job_.node(name); }

  SimJob job_{GetParam(), 2, 2};
};

INSTANTIATE_TEST_SUITE_P(Seeds, TakeoverTest, ::testing::Range(1ul, 21ul));

TEST_P(TakeoverTest, SecondCoordinatorIsRefusedByAJobThatRuns) {
  StartHealthy();
  job_.Start("rival");
  Await("rival");
  ExpectRefused("rival");
  EXPECT_THAT(std::string(job_.coordinator("rival").awaited->message()),
              AllOf(HasSubstr("at chief0:7077"),
                    HasSubstr("by worker/0, worker/1, ps/0, ps/1")));
  EXPECT_THAT(job_.Log(),
              AllOf(HasSubstr("rival: this job already has a coordinator"),
                    HasSubstr("waiting up to 5 s for it to stop"),
                    HasSubstr("ps/0: refused a second coordinator "
                              "(rival:7077): the one at chief0:7077 (term 1) "
                              "is in charge")));
  // Nothing has changed for the first.
  job_.RunFor(5 * kSecond);
  ExpectInCharge("chief/0");
  EXPECT_EQ(job_.coordinator_term().term, 1u);
  for (const char* task : kTasks) {
    EXPECT_EQ(job_.Entry(task).state, TaskState::kHealthy) << task;
  }
}

// A task that has just been started obeys whoever claims it first: the second
// coordinator must not.
TEST_P(TakeoverTest, SecondCoordinatorDoesNotTakeTasksThatComeUp) {
  StartHealthy();
  job_.Start("rival");
  while (!job_.coordinator("rival").awaited) {
    job_.world().Crash(node("worker/0"), SimCrash::kProcess);
    job_.world().Restart(node("worker/0"));
    job_.RunFor(std::chrono::milliseconds(70));
  }
  ExpectRefused("rival");
  job_.RunFor(5 * kSecond);
  ExpectInCharge("chief/0");
}

TEST_P(TakeoverTest, KilledCoordinatorIsReplacedAtOnce) {
  StartHealthy();
  job_.world().Crash(node("chief/0"), SimCrash::kProcess);
  const MonotonicTime start = Now();
  job_.Start("rival");
  Await("rival");
  ExpectInCharge("rival");
  EXPECT_EQ(job_.coordinator_term("rival").term, 2u);
  EXPECT_LT(Now() - start, kSecond);
}

TEST_P(TakeoverTest, CoordinatorOfALostMachineIsReplacedWhenItIsSilent) {
  StartHealthy();
  job_.world().Crash(node("chief/0"), SimCrash::kMachine);
  const MonotonicTime start = Now();
  job_.Start("rival");
  Await("rival");
  ExpectInCharge("rival");
  EXPECT_LT(Now() - start, 4 * kSecond);
}

TEST_P(TakeoverTest, SilentCoordinatorIsReplacedAndFindsOut) {
  StartHealthy();
  job_.world().Hang(node("chief/0"));
  job_.Start("rival");
  Await("rival");
  ExpectInCharge("rival");
  job_.RunFor(10 * kSecond);
  const MonotonicTime start = Now();
  job_.world().Resume(node("chief/0"));
  AwaitDeposed();
  EXPECT_LT(Now() - start, 2 * kSecond);
  job_.RunFor(5 * kSecond);
  ExpectInCharge("rival");
}

// It wakes up at the end of its body: it has not ended the job.
TEST_P(TakeoverTest, DeposedCoordinatorDoesNotEndTheJob) {
  StartHealthy();
  job_.world().Hang(node("chief/0"));
  job_.Start("rival");
  Await("rival");
  ExpectInCharge("rival");
  job_.End("chief/0");
  job_.world().Resume(node("chief/0"));
  AwaitDeposed();
  job_.RunFor(5 * kSecond);
  if (job_.coordinator().told) {
    EXPECT_THAT(*job_.coordinator().told, StatusIs(absl::StatusCode::kAborted));
  }
  for (const char* task : kTasks) EXPECT_FALSE(job_.Ended(task)) << task;
  ExpectInCharge("rival");
}

TEST_P(TakeoverTest, PausedCoordinatorEndsItsJob) {
  StartHealthy();
  job_.world().Hang(node("chief/0"));
  job_.RunFor(10 * kSecond);
  job_.End();
  job_.world().Resume(node("chief/0"));
  ASSERT_TRUE(
      job_.RunUntil([this] { return job_.coordinator().told.has_value(); }));
  EXPECT_OK(*job_.coordinator().told);
  job_.RunFor(kSecond);
  for (const char* task : kTasks) EXPECT_TRUE(job_.Ended(task)) << task;
}

// Whoever has a worker's certificate can say anything.
TEST_P(TakeoverTest, WorkerThatLiesDeposesNobody) {
  bool lies = false;
  job_.member_options.add_holdings = [&lies](TaskReport& report) {
    if (!lies || report.task != "worker/0") return;
    report.coordinator_term = {.term = 99, .holder = 1};
    report.hears = true;
  };
  StartHealthy();
  lies = true;
  job_.RunFor(10 * kSecond);
  EXPECT_FALSE(job_.coordinator().deposed.has_value());
  EXPECT_NE(job_.Entry("worker/0").state, TaskState::kHealthy);
  EXPECT_EQ(job_.Entry("ps/0").state, TaskState::kHealthy);
  EXPECT_EQ(job_.Entry("worker/1").state, TaskState::kHealthy);
  lies = false;
  job_.RunFor(kSecond);
  ExpectInCharge("chief/0");
}

TEST_P(TakeoverTest, PauseWithoutASuccessorChangesNothing) {
  StartHealthy();
  job_.world().Hang(node("chief/0"));
  job_.RunFor(10 * kSecond);
  job_.world().Resume(node("chief/0"));
  job_.RunFor(5 * kSecond);
  ExpectInCharge("chief/0");
  EXPECT_EQ(job_.coordinator_term().term, 1u);
}

// They have not heard their coordinator either, and it is there when they look.
TEST_P(TakeoverTest, TasksThatWereAllPausedKeepTheirCoordinator) {
  StartHealthy();
  job_.Start("rival");
  job_.RunFor(kSecond);
  for (const char* task : kTasks) job_.world().Hang(node(task));
  job_.RunFor(3 * kSecond);
  for (const char* task : kTasks) job_.world().Resume(node(task));
  Await("rival");
  ExpectRefused("rival");
  job_.RunFor(5 * kSecond);
  ExpectInCharge("chief/0");
}

// What a task does not hear is no proof, as long as others do.
TEST_P(TakeoverTest, CoordinatorThatSomeTasksHearKeepsTheJob) {
  StartHealthy();
  job_.world().Partition(node("chief/0"), node("worker/0"));
  job_.world().Partition(node("worker/0"), node("chief/0"));
  job_.RunFor(5 * kSecond);
  job_.Start("rival");
  Await("rival");
  ExpectRefused("rival");
  EXPECT_THAT(std::string(job_.coordinator("rival").awaited->message()),
              Not(HasSubstr("worker/0")));
  job_.world().Heal(node("chief/0"), node("worker/0"));
  job_.world().Heal(node("worker/0"), node("chief/0"));
  job_.RunFor(5 * kSecond);
  ExpectInCharge("chief/0");
}

// One server has missed the change, and hears the old one again.
TEST_P(TakeoverTest, OneRemainsWhenTasksAreSplit) {
  StartHealthy();
  job_.world().Hang(node("chief/0"));
  job_.world().Hang(node("ps/1"));
  job_.Start("rival");
  ASSERT_TRUE(job_.RunUntil([this] {
    return job_.coordinator("rival").roster != nullptr &&
           job_.Entry("ps/0", "rival").state == TaskState::kHealthy;
  }));
  job_.world().Resume(node("ps/1"));
  job_.world().Resume(node("chief/0"));
  AwaitDeposed();
  Await("rival");
  job_.RunFor(5 * kSecond);
  ExpectInCharge("rival");
}

TEST_P(TakeoverTest, OfTwoThatStartAtOnceOneRemains) {
  job_.StartAll();
  job_.Start("rival");
  job_.RunFor(20 * kSecond);
  int in_charge = 0;
  for (const char* coordinator : {"chief/0", "rival"}) {
    const SimJob::Coordinator& one = job_.coordinator(coordinator);
    ASSERT_TRUE(one.awaited.has_value()) << coordinator << "\n" << job_.Log();
    if (one.deposed) {
      EXPECT_THAT(*one.deposed, StatusIs(absl::StatusCode::kAborted));
    } else if (!one.awaited->ok()) {
      ExpectRefused(coordinator);
    } else {
      ++in_charge;
      ExpectInCharge(coordinator);
    }
  }
  EXPECT_EQ(in_charge, 1);
}

}  // namespace
}  // namespace capstan::testing
