// Workers that run another program than the job's, in simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "membership/sim_job.h"
#include "testing/status_matchers.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// A job of two workers and one server whose program defines two functions, for
// a few seeds.
class ProgramsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  ProgramsTest() {
    job_.member_options.definitions = job_.roster_options.definitions =
        std::make_shared<const ProgramDefinitions>(
            ProgramDefinitions{"function 'a' int()", "function 'b' int()"});
  }
  void StartHealthy() {
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
  // The task was told why it must leave, and has.
  void AwaitTurnedAway(const std::string& name, const std::string& why) {
    ASSERT_TRUE(job_.RunUntil([&] { return job_.Ended(name).has_value(); }));
    EXPECT_THAT(
        *job_.Ended(name),
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 AllOf(HasSubstr(" runs a different program from the job's: "),
                       HasSubstr(why))));
    job_.RunFor(kSecond);
    EXPECT_THAT(job_.Log(), HasSubstr("chief/0: turned away a worker: "));
  }

  SimJob job_{GetParam(), 2, 1};
};

INSTANTIATE_TEST_SUITE_P(Seeds, ProgramsTest, ::testing::Range(1ul, 11ul));

TEST_P(ProgramsTest, OneThatJoinsIsTurnedAway) {
  StartHealthy();
  job_.definitions_of["extra"] = {"function 'b' int()", "function 'c' int()"};
  job_.StartJoining("extra");
  AwaitTurnedAway("extra",
                  "worker/2 at extra:7077 runs a different program from the "
                  "job's: it does not define function 'a' int(); it defines "
                  "function 'c' int(), unknown to the job; start it with the "
                  "job's program");
  // It was never there for those who give out work, and is forgotten.
  EXPECT_THAT(job_.coordinator().changes, Each("worker/2 missing"));
  EXPECT_EQ(job_.Entry("worker/2").task, "");
  EXPECT_EQ(job_.Entry("worker/0").state, TaskState::kHealthy);
  EXPECT_EQ(job_.Entry("worker/1").state, TaskState::kHealthy);
  // One with the right program may come.
  job_.StartJoining("another");
  AwaitState("worker/3", TaskState::kHealthy);
}

TEST_P(ProgramsTest, OneThatDefinesNothingIsTurnedAway) {
  StartHealthy();
  job_.definitions_of["extra"] = {};
  job_.StartJoining("extra");
  AwaitTurnedAway("extra",
                  "it does not define function 'a' int(), function 'b' int(); "
                  "start");
}

TEST_P(ProgramsTest, OneOfTheStartFailsTheJobAtOnce) {
  job_.definitions_of["worker/1"] = {"function 'a' int()"};
  const MonotonicTime start = job_.world().clock().Now();
  job_.StartAll();
  ASSERT_TRUE(
      job_.RunUntil([this] { return job_.coordinator().awaited.has_value(); }));
  EXPECT_THAT(*job_.coordinator().awaited,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("worker/1 at worker1:7077 runs"),
                             HasSubstr("does not define function 'b' int()"))));
  EXPECT_LT(job_.world().clock().Now() - start, 5 * kSecond);
  AwaitTurnedAway("worker/1", "function 'b'");
}

TEST_P(ProgramsTest, OneThatComesBackWithAnotherIsTurnedAway) {
  StartHealthy();
  job_.world().Crash(job_.node("worker/1"), SimCrash::kProcess);
  job_.definitions_of["worker/1"] = {"function 'a' int()"};
  job_.world().Restart(job_.node("worker/1"));
  AwaitTurnedAway("worker/1", "function 'b'");
  AwaitState("worker/1", TaskState::kUnreachable);
  EXPECT_THAT(job_.coordinator().changes, Not(Contains("worker/1 restarted")));
  job_.RunFor(5 * kSecond);
  EXPECT_FALSE(job_.Ended("worker/0").has_value());
  job_.definitions_of.clear();
  job_.world().Crash(job_.node("worker/1"), SimCrash::kProcess);
  job_.world().Restart(job_.node("worker/1"));
  AwaitState("worker/1", TaskState::kRestarted);
}

// Servers run none.
TEST_P(ProgramsTest, ServersAreNotCompared) {
  job_.definitions_of["ps/0"] = {"function 'c' int()"};
  StartHealthy();
}

}  // namespace
}  // namespace capstan::testing
