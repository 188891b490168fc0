// `capstan run`: how a job ends that nothing is wrong with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <string>
#include <vector>

#include "run/run_process.h"

namespace capstan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Says its process, and goes on until it is told to end.
constexpr char kTellsPid[] = "echo pid $$; exec sleep 1000";
// The same, but it does not listen.
constexpr char kStubborn[] =
    "trap '' TERM; echo pid $$; while :; do sleep 1000; done";

std::vector<pid_t> Pids(const RunProcess& run) {
  std::vector<pid_t> pids;
  for (const std::string& pid : run.After(": pid ")) {
    pids.push_back(std::stoi(pid));
  }
  return pids;
}

void ExpectAllGone(const RunProcess& run, size_t count) {
  const std::vector<pid_t> pids = Pids(run);
  EXPECT_EQ(pids.size(), count);
  for (const pid_t pid : pids) EXPECT_FALSE(IsAlive(pid)) << pid;
}

TEST(RunEndTest, CtrlCEndsAll) {
  RunProcess run(kTellsPid, {.server = kTellsPid});
  run.WaitForOutput(": pid ", 4);
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 128 + SIGINT);
  ExpectAllGone(run, 4);
  EXPECT_THAT(run.output(), HasSubstr("SIGINT: stopping all tasks; press "
                                      "Ctrl-C again to kill them\n"));
  EXPECT_THAT(run.output(), Not(HasSubstr("first failure")));
}

TEST(RunEndTest, SigtermEndsAll) {
  RunProcess run(kTellsPid, {.server = kTellsPid});
  run.WaitForOutput(": pid ", 4);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 128 + SIGTERM);
  ExpectAllGone(run, 4);
}

TEST(RunEndTest, SighupEndsAll) {
  RunProcess run(kTellsPid, {.server = kTellsPid});
  run.WaitForOutput(": pid ", 4);
  run.Signal(SIGHUP);
  EXPECT_EQ(run.Wait(), 128 + SIGHUP);
  ExpectAllGone(run, 4);
}

// However well it ends: the job was cut short.
TEST(RunEndTest, TheChiefMayEndWellOnCtrlC) {
  RunProcess run(
      "trap 'echo saved; exit 0' TERM; echo ready; sleep 1000 & wait");
  run.WaitForOutput(": ready", 3);
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 128 + SIGINT);
  EXPECT_THAT(run.output(), HasSubstr("chief/0: saved\n"));
}

TEST(RunEndTest, WhoDoesNotListenIsKilled) {
  RunProcess run(kStubborn);
  run.WaitForOutput(": pid ", 3);
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 128 + SIGINT);
  ExpectAllGone(run, 3);
  EXPECT_THAT(run.output(), HasSubstr("did not stop within 1.5 s; killing"));
}

TEST(RunEndTest, ASecondCtrlCKills) {
  RunProcess run(kStubborn);
  run.WaitForOutput(": pid ", 3);
  run.Signal(SIGINT);
  run.WaitForOutput("SIGINT: stopping");
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 128 + SIGINT);
  ExpectAllGone(run, 3);
  EXPECT_THAT(run.output(), HasSubstr("worker/0, worker/1, chief/0\n"));
}

TEST(RunEndTest, AStoppedTaskIsKilledToo) {
  RunProcess run(kTellsPid);
  run.WaitForOutput(": pid ", 3);
  for (const pid_t pid : Pids(run)) kill(pid, SIGSTOP);
  run.Signal(SIGINT);
  run.Wait();
  ExpectAllGone(run, 3);
}

TEST(RunEndTest, WhoGoesOnAfterTheChiefIsEnded) {
  RunProcess run("[ $CAPSTAN_TASK = chief/0 ] || exec sleep 1000");
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("worker/0, worker/1 still running 2 s "
                                      "after the chief exited; stopping\n"));
}

// An evaluator that is not done before the test says so.
constexpr char kEvaluates[] =
    "case $CAPSTAN_TASK in chief/0) exit 0;; evaluator/0) echo pid $$; "
    "read line < go; echo evaluated;; *) exec sleep 1000;; esac";
constexpr char kWaits[] =
    "the chief has finished; waiting up to 60 min for evaluator/0 to evaluate "
    "the last checkpoints (press Ctrl-C to stop it)\n";

void LetItEnd(const RunProcess& run) {
  // Without a reader this would wait for ever.
  ASSERT_FALSE(::testing::Test::HasFailure());
  std::ofstream(run.dir() / "go") << "go\n";
}

TEST(RunEndTest, TheEvaluatorIsWaitedFor) {
  RunProcess run(kEvaluates, {.flags = {"--evaluator"}, .before = "mkfifo go"});
  run.WaitForOutput(kWaits);
  EXPECT_THAT(run.output(), HasSubstr("worker/0, worker/1 still running 2 s "
                                      "after the chief exited; stopping\n"));
  LetItEnd(run);
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("evaluator/0: evaluated\n"));
}

TEST(RunEndTest, WhoIsStubbornIsKilledWhileTheEvaluatorGoesOn) {
  RunProcess run(
      kEvaluates,
      {.flags = {"--evaluator"}, .server = kStubborn, .before = "mkfifo go"});
  run.WaitForOutput(kWaits);
  run.WaitForOutput("capstan: ps/0 did not stop within 1.5 s; killing\n");
  LetItEnd(run);
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("evaluator/0: evaluated\n"));
}

TEST(RunEndTest, CtrlCEndsAnEvaluatorThatIsWaitedFor) {
  RunProcess run(kEvaluates, {.flags = {"--evaluator"}, .before = "mkfifo go"});
  run.WaitForOutput(kWaits);
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 128 + SIGINT);
  EXPECT_THAT(run.output(), HasSubstr("SIGINT: stopping all tasks"));
  EXPECT_THAT(run.output(), Not(HasSubstr("evaluated\n")));
  ExpectAllGone(run, 1);
}

TEST(RunEndTest, WhatTasksStartEndsWithThem) {
  RunProcess run("sleep 1000 & echo pid $!");
  EXPECT_EQ(run.Wait(), 0);
  ExpectAllGone(run, 3);
}

TEST(RunEndTest, TasksDieWithTheSupervisor) {
  RunProcess run(kTellsPid, {.server = kTellsPid});
  run.WaitForOutput(": pid ", 4);
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait(), 128 + SIGKILL);
  const std::vector<pid_t> pids = Pids(run);
  EXPECT_EQ(pids.size(), 4u);
  for (const pid_t pid : pids) WaitUntilGone(pid);
}

TEST(RunEndTest, CtrlCWorksWhileNobodyReads) {
  RunProcess run("exec yes");
  // A pipe that is full, but for what does not fit in.
  run.WaitForUnread(60'000);
  run.Signal(SIGINT);
  EXPECT_EQ(run.WaitWithoutReading(), 128 + SIGINT);
}

TEST(RunEndTest, GoesOnWithoutAScreen) {
  RunProcess run(std::vector<std::string>{"run", "--", "true"},
                 {.before = "exec >&- 2>&- <&-"});
  EXPECT_EQ(run.Wait(), 0);
}

}  // namespace
}  // namespace capstan::testing
