// `capstan run`: how a job ends in which something failed, or does not end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "run/run_process.h"

namespace capstan::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// A script that does one thing as one task, and another as all others.
std::string As(const std::string& task, const std::string& script,
               const std::string& others) {
  return "case $CAPSTAN_TASK in " + task + ") " + script + ";; *) " + others +
         ";; esac";
}

constexpr char kGoesOn[] = "exec sleep 1000";

// For a chief that does not report what the job has lost.
constexpr char kSoon[] = "--report-timeout=0.1";

// Lets the one task go on that reads from the pipe "go".
void Release(const RunProcess& run) {
  std::ofstream(run.dir() / "go") << "go\n";
}

TEST(RunFailureTest, TheCodeIsThatOfTheChief) {
  RunProcess run(As("chief/0", "echo oops; exit 7", kGoesOn));
  EXPECT_EQ(run.Wait(), 7);
  EXPECT_THAT(run.output(),
              ContainsRegex("capstan: first failure: chief/0 \\(pid "
                            "[0-9]+\\) failed with exit code 7; the end of "
                            "runs/.*/logs/chief-0.log:\n  oops\n$"));
}

TEST(RunFailureTest, OrThatOfItsSignal) {
  RunProcess run(As("chief/0", "kill -SEGV $$", kGoesOn));
  EXPECT_EQ(run.Wait(), 128 + SIGSEGV);
  EXPECT_THAT(run.output(), ContainsRegex("first failure: chief/0 .* was "
                                          "killed by SIGSEGV; it wrote "
                                          "nothing\n$"));
}

TEST(RunFailureTest, TheFirstFailureIsLast) {
  RunProcess run(As("worker/0",
                    "read line < go; i=0; while [ $i -lt 40 ]; do "
                    "i=$((i+1)); echo line $i; done; printf end; exit 3",
                    "trap 'echo late; exit 9' TERM; sleep 1000 & "
                    "echo > go; wait"),
                 {.flags = {"-w", "1", kSoon}, .before = "mkfifo go"});
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_THAT(run.output(), HasSubstr("chief/0: late\n"));
  std::string expected;
  for (int i = 12; i <= 40; ++i) {
    expected += "  line " + std::to_string(i) + "\n";
  }
  EXPECT_THAT(run.output(),
              EndsWith("/logs/worker-0.log:\n" + expected + "  end\n"));
  EXPECT_EQ(run.After("first failure: worker/0 (pid ").size(), 1u);
}

TEST(RunFailureTest, AFailureIsNeverSuccess) {
  RunProcess run(As("worker/0", "read line < go; exit 3",
                    "trap 'exit 0' TERM; sleep 1000 & echo > go; wait"),
                 {.flags = {"-w", "1", kSoon}, .before = "mkfifo go"});
  EXPECT_EQ(run.Wait(), 3);
}

TEST(RunFailureTest, AServerMayFailToo) {
  RunProcess run(kGoesOn,
                 {.flags = {kSoon, "-s", "2"},
                  .server = As("ps/1", kGoesOn, "echo no variables; exit 4")});
  EXPECT_EQ(run.Wait(), 4);
  EXPECT_THAT(run.output(),
              HasSubstr("the job cannot continue without its variables; "
                        "waiting up to 0.1 s for chief/0 to report that"));
  EXPECT_THAT(run.output(),
              HasSubstr("chief/0 has not exited within 0.1 s; stopping"));
  EXPECT_THAT(run.output(), ContainsRegex("first failure: ps/0 .* failed with "
                                          "exit code 4; .*:\n"
                                          "  no variables\n$"));
}

TEST(RunFailureTest, TheChiefReportsWhatTheJobHasLost) {
  RunProcess run(As("chief/0", "read line < go; echo poisoned; exit 4",
                    "echo oops; exit 3"),
                 {.server = kGoesOn, .before = "mkfifo go"});
  run.WaitForOutput(
      "the job cannot continue without a worker; waiting up to "
      "10 s for chief/0 to report that");
  Release(run);
  EXPECT_EQ(run.Wait(), 4);
  const std::vector<std::string> gone = run.After("capstan: worker/");
  ASSERT_EQ(gone.size(), 2u);
  const std::string first = gone[0].substr(0, 1);
  const std::string second = first == "0" ? "1" : "0";
  EXPECT_THAT(gone[0], HasSubstr("continuing without it, with 1 worker left"));
  EXPECT_THAT(run.output(),
              ContainsRegex("capstan: first failure: worker/" + first +
                            " .*:\n  oops\ncapstan: then worker/" + second +
                            " .*; its log is .*/worker-" + second +
                            ".log\n"
                            "capstan: then chief/0 \\(pid [0-9]+\\) failed "
                            "with exit code 4; the end of "
                            ".*/logs/chief-0.log:\n  poisoned\n$"));
}

TEST(RunFailureTest, OrSucceedsWithout) {
  RunProcess run(As("chief/0", "read line < go; exit 0", "exit 3"),
                 {.before = "mkfifo go"});
  run.WaitForOutput("waiting up to 10 s for chief/0");
  Release(run);
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), Not(HasSubstr("first failure")));
}

TEST(RunFailureTest, CtrlCEndsTheWaitForTheChief) {
  RunProcess run(As("chief/0", kGoesOn, "echo oops; exit 3"),
                 {.flags = {"-w", "1"}, .before = "mkfifo go"});
  run.WaitForOutput("waiting up to 10 s for chief/0");
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 128 + SIGINT);
  EXPECT_THAT(run.output(), ContainsRegex("first failure: worker/0.*:\n"
                                          "  oops\n$"));
}

TEST(RunFailureTest, AProgramThatFailsEverywhere) {
  RunProcess run("exit 7", {.server = kGoesOn});
  EXPECT_EQ(run.Wait(), 7);
  EXPECT_THAT(run.output(), Not(HasSubstr("the end of")));
}

// A server that was started again has lost its variables all the same.
TEST(RunFailureTest, WhoHasNotRecoveredMayBeTheFirst) {
  RunProcess run(As("chief/0",
                    "read line < go; touch $CAPSTAN_OVER_FILE; "
                    "echo lost ps/0; exit 1",
                    kGoesOn),
                 {.flags = {"--max-restarts", "5"},
                  .server = "[ -e tried ] && exec sleep 1000; touch tried; "
                            "echo oops; kill -KILL $$",
                  .before = "mkfifo go"});
  run.WaitForOutput("restarting it (1 of 5)");
  Release(run);
  EXPECT_EQ(run.Wait(), 1);
  EXPECT_THAT(run.output(),
              ContainsRegex("first failure: ps/0 .* was killed by SIGKILL; "
                            ".*:\n  oops\ncapstan: then chief/0 .*:\n"
                            "  lost ps/0\n$"));
}

TEST(RunFailureTest, AFailedTaskIsRestarted) {
  // The chief waits until the second process of the worker writes to it.
  RunProcess run(
      As("worker/0",
         "echo \"config $TF_CONFIG\"; [ -e tried ] && { echo > done; exit 0; };"
         "touch tried; kill -KILL $$",
         "[ $CAPSTAN_TASK != chief/0 ] || read line < done"),
      {.flags = {"--max-restarts", "1"}, .before = "mkfifo done"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(),
              ContainsRegex("capstan: worker/0 \\(pid [0-9]+\\) was killed by "
                            "SIGKILL; restarting it \\(1 of 1\\)\n"));
  const std::vector<std::string> configs = run.After("worker/0: config ");
  ASSERT_EQ(configs.size(), 2u);
  EXPECT_EQ(configs[0], configs[1]);
  EXPECT_THAT(run.output(), Not(HasSubstr("first failure")));
}

TEST(RunFailureTest, RestartsEndSometime) {
  RunProcess run(As("worker/0", "echo try; exit 5", kGoesOn),
                 {.flags = {"-w", "1", "--max-restarts", "2", kSoon}});
  EXPECT_EQ(run.Wait(), 5);
  EXPECT_EQ(run.After("worker/0: try").size(), 3u);
  EXPECT_THAT(run.output(), HasSubstr("; restarting it (1 of 2)\n"));
  EXPECT_THAT(run.output(), HasSubstr("; restarting it in 0.5 s (2 of 2)\n"));
  EXPECT_THAT(
      run.output(),
      ContainsRegex("first failure: worker/0 .* failed with exit code 5 "
                    "after 2 restarts; .*:\n  try\n  try\n  try\n$"));
}

TEST(RunFailureTest, TheJobGoesOnWithoutAWorker) {
  RunProcess run(As("worker/1", "sleep 1000 & echo pid $!; kill -KILL $$",
                    "[ $CAPSTAN_TASK = chief/0 ] || exec sleep 1000; "
                    "read line < go"),
                 {.flags = {"-w", "3"}, .before = "mkfifo go"});
  run.WaitForOutput(
      "was killed by SIGKILL; continuing without it, with 2 workers left");
  Release(run);
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(
      run.output(),
      ContainsRegex(
          "capstan: worker/1 \\(pid [0-9]+\\) was killed by "
          "SIGKILL; continuing without it, with 2 workers left; its log "
          "is runs/.*/logs/worker-1.log\n"));
  EXPECT_THAT(run.output(), Not(HasSubstr("first failure")));
  const std::vector<std::string> left = run.After("worker/1: pid ");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_FALSE(IsAlive(std::stoi(left[0])));
}

TEST(RunFailureTest, ButNotWithoutAnyWorker) {
  RunProcess run(As("chief/0", kGoesOn, "echo oops; exit 3"),
                 {.flags = {kSoon}});
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_EQ(run.After("continuing without it, with 1 worker left;").size(), 1u);
  EXPECT_THAT(run.output(),
              ContainsRegex("first failure: worker/. .* "
                            "failed with exit code 3; .*:\n  oops\n"
                            "capstan: then worker/"));
}

TEST(RunFailureTest, AWorkerThatHasEndedIsNoneLeft) {
  RunProcess run(As("worker/0", "exit 0",
                    "[ $CAPSTAN_TASK = chief/0 ] && exec sleep 1000; "
                    "read line < go; exit 3"),
                 {.flags = {kSoon}, .before = "mkfifo go"});
  run.WaitForOutput("logs in");
  Release(run);
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_THAT(run.output(), HasSubstr("first failure: worker/1"));
}

TEST(RunFailureTest, TheJobGoesOnWithoutTheEvaluator) {
  RunProcess run(As("evaluator/0", "exit 3",
                    "[ $CAPSTAN_TASK = chief/0 ] || exec sleep 1000; "
                    "read line < go"),
                 {.flags = {"--evaluator"}, .before = "mkfifo go"});
  run.WaitForOutput(
      "failed with exit code 3; continuing without it; its log is");
  Release(run);
  EXPECT_EQ(run.Wait(), 0);
}

TEST(RunFailureTest, WithCheckpointsTheJobGoesOnWithoutAServer) {
  RunProcess run(
      "[ $CAPSTAN_TASK = chief/0 ] || exec sleep 1000; "
      "read line < go",
      {.flags = {"-s", "3", "--checkpoint-dir", "saved"},
       .server = As("ps/1", "kill -KILL $$", kGoesOn),
       .before = "mkfifo go"});
  run.WaitForOutput(
      "was killed by SIGKILL; continuing without it, with 2 servers left");
  Release(run);
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), Not(HasSubstr("first failure")));
}

TEST(RunFailureTest, TheDirectoryForCheckpointsIsForItsOwnerAlone) {
  RunProcess run(
      "[ $CAPSTAN_TASK = chief/0 ] || exec sleep 1000; "
      "stat -c 'mode %a' saved saved/a",
      {.flags = {"--checkpoint-dir", "saved/a"}, .server = kGoesOn});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.After("mode "), (std::vector<std::string>{"700", "700"}));
}

TEST(RunFailureTest, ADirectoryThatCannotBeMadeIsNamed) {
  RunProcess run("exit 0", {.flags = {"--checkpoint-dir", "file/a"},
                            .before = "touch file"});
  EXPECT_EQ(run.Wait(), 1);
  EXPECT_THAT(run.output(),
              ContainsRegex("capstan: --checkpoint-dir: .*file/a"));
}

TEST(RunFailureTest, ButNotWithoutAnyServer) {
  RunProcess run(kGoesOn,
                 {.flags = {"-s", "2", "--checkpoint-dir", "saved", kSoon},
                  .server = "echo oops; exit 3"});
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_THAT(run.output(),
              HasSubstr("the job cannot continue without a parameter server"));
  EXPECT_EQ(run.After("continuing without it, with 1 server left;").size(), 1u);
  EXPECT_THAT(run.output(), ContainsRegex("first failure: ps/. .* failed "
                                          "with exit code 3; .*:\n  oops\n"
                                          "capstan: then ps/"));
}

TEST(RunFailureTest, NobodyIsRestartedAfterTheChief) {
  RunProcess run(As("worker/0", "echo try; exit 5",
                    "[ $CAPSTAN_TASK = chief/0 ] || exit 0; read line < go"),
                 {.flags = {"--max-restarts", "9"}, .before = "mkfifo go"});
  run.WaitForOutput("restarting it in 4 s (5 of 9)");
  Release(run);
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.After("worker/0: try").size(), 5u);
}

TEST(RunFailureTest, TheChiefIsRestartedToo) {
  RunProcess run(
      As("chief/0", "[ -e tried ] && exit 0; touch tried; exit 5", "exit 0"),
      {.flags = {"--max-restarts", "1"}});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("restarting it (1 of 1)\n"));
}

// The tasks of a job that is over have left, or will: another chief would wait
// for them, and fail with another error than the one that matters.
TEST(RunFailureTest, ButNotWhenTheJobIsOver) {
  RunProcess run(
      As("chief/0", "touch $CAPSTAN_OVER_FILE; echo oops; exit 5", "exit 0"),
      {.flags = {"--max-restarts", "9"}});
  EXPECT_EQ(run.Wait(), 5);
  EXPECT_THAT(run.output(), Not(HasSubstr("restarting")));
  EXPECT_THAT(run.output(),
              ContainsRegex("capstan: first failure: chief/0 \\(pid "
                            "[0-9]+\\) failed with exit code 5; the end of "
                            "runs/.*/logs/chief-0.log:\n"
                            "  oops\n$"));
}

TEST(RunFailureTest, NorIfItIsKilledThen) {
  RunProcess run(
      As("chief/0", "cd /; touch $CAPSTAN_OVER_FILE; kill -KILL $$", kGoesOn),
      {.flags = {"--max-restarts", "9"}});
  EXPECT_EQ(run.Wait(), 128 + SIGKILL);
  EXPECT_THAT(run.output(), Not(HasSubstr("restarting")));
  EXPECT_THAT(run.output(), ContainsRegex("first failure: chief/0 .* was "
                                          "killed by SIGKILL; it wrote "
                                          "nothing\n$"));
}

TEST(RunFailureTest, WhatARestartedTaskLeftIsKilledFirst) {
  RunProcess run(As("worker/0",
                    "[ -e tried ] && { echo > done; exit 0; };"
                    "touch tried; sleep 1000 & echo pid $!; exit 1",
                    "[ $CAPSTAN_TASK != chief/0 ] || read line < done"),
                 {.flags = {"--max-restarts", "1"}, .before = "mkfifo done"});
  EXPECT_EQ(run.Wait(), 0);
  const std::vector<std::string> left = run.After("worker/0: pid ");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_FALSE(IsAlive(std::stoi(left[0])));
}

TEST(RunFailureTest, AProgramThatIsNotThere) {
  RunProcess run(std::vector<std::string>{"run", "--", "no-such-program"});
  EXPECT_EQ(run.Wait(), 127);
  EXPECT_EQ(run.output(),
            "capstan: cannot run no-such-program: no such program in PATH\n");
}

TEST(RunFailureTest, AProgramThatCannotBeExecuted) {
  RunProcess run(std::vector<std::string>{"run", "--", "./data"},
                 {.before = "touch data"});
  EXPECT_EQ(run.Wait(), 126);
  EXPECT_EQ(run.output(),
            "capstan: cannot run ./data: not an executable file\n");
}

TEST(RunFailureTest, AProgramThatTheSystemRefuses) {
  RunProcess text(std::vector<std::string>{"run", "--", "./text"},
                  {.before = "echo exit 0 > text; chmod +x text"});
  EXPECT_EQ(text.Wait(), 126);
  EXPECT_THAT(text.output(), HasSubstr("a script needs a first line"));
  RunProcess script(
      std::vector<std::string>{"run", "--", "./script"},
      {.before = "echo '#!/no/such/shell' > script; chmod +x script"});
  EXPECT_EQ(script.Wait(), 127);
}

TEST(RunFailureTest, NoPlaceForTheLogs) {
  RunProcess run("exit 0", {.before = "touch runs"});
  EXPECT_EQ(run.Wait(), 1);
  EXPECT_THAT(run.output(), HasSubstr("runs"));
}

}  // namespace
}  // namespace capstan::testing
