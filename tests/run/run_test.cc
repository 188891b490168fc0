// `capstan run`: what tasks are given, and what becomes of their output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "capstan/cluster_spec.h"
#include "run/run_process.h"

namespace capstan::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(RunTest, EveryLineHasItsTask) {
  RunProcess run("echo hello; echo there >&2",
                 {.flags = {"-w", "2", "-s", "2", "--evaluator"},
                  .server = "echo served"});
  EXPECT_EQ(run.Wait(), 0);
  for (const std::string task :
       {"chief/0", "worker/0", "worker/1", "evaluator/0"}) {
    EXPECT_THAT(run.output(), HasSubstr("\n" + task + ": hello\n"));
    EXPECT_THAT(run.output(), HasSubstr("\n" + task + ": there\n"));
  }
  EXPECT_THAT(run.output(), HasSubstr("\nps/0: served\n"));
  EXPECT_THAT(run.output(), HasSubstr("\nps/1: served\n"));
  EXPECT_EQ(run.Log("worker-1"), "hello\nthere\n");
  EXPECT_EQ(run.Log("ps-1"), "served\n");
}

TEST(RunTest, SaysFirstWhereTheLogsAre) {
  RunProcess run("echo hello");
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(),
              ContainsRegex("^capstan: 1 chief, 2 workers, 1 ps; logs in "
                            "runs/[0-9]{8}-[0-9]{6}-[0-9]+/logs\n"));
}

TEST(RunTest, AllTasksHaveOneClusterAndOneJob) {
  RunProcess run("echo \"job $CAPSTAN_JOB_ID\"; echo \"config $TF_CONFIG\"",
                 {.server = "echo \"job $CAPSTAN_JOB_ID\""});
  EXPECT_EQ(run.Wait(), 0);
  const std::vector<std::string> jobs = run.After(": job ");
  EXPECT_EQ(jobs.size(), 4u);
  EXPECT_EQ(std::set<std::string>(jobs.begin(), jobs.end()).size(), 1u);
  EXPECT_EQ(jobs.front().size(), 32u);
  std::set<std::string> clusters;
  for (const std::string& config : run.After(": config ")) {
    clusters.insert(config.substr(0, config.find("},\"task\"") + 1));
  }
  ASSERT_EQ(clusters.size(), 1u);
  constexpr std::string_view kBefore = "{\"cluster\":";
  ASSERT_THAT(*clusters.begin(), StartsWith(std::string(kBefore)));
  const ClusterSpec spec =
      ClusterSpec::FromJson(clusters.begin()->substr(kBefore.size()));
  EXPECT_NO_THROW(spec.Validate());
  EXPECT_EQ(spec.ToString(), "1 chief, 2 workers, 1 ps");
}

// The addresses of all tasks, as TF_CONFIG has them in the chief's log.
std::vector<std::string> AddressesIn(const std::string& config) {
  constexpr std::string_view kBefore = "{\"cluster\":";
  const size_t end = config.find("},\"task\"") + 1;
  const ClusterSpec spec = ClusterSpec::FromJson(
      config.substr(kBefore.size(), end - kBefore.size()));
  std::vector<std::string> addresses;
  for (const TaskId& task : spec.tasks()) {
    addresses.push_back(spec.task_address(task));
  }
  return addresses;
}

TEST(RunTest, TasksAreOnSocketsOfTheUserAlone) {
  // Their folder, in TMPDIR, is private while the job runs, and gone after it.
  RunProcess run("echo \"$TF_CONFIG\"; stat -c '%a %n' capstan-*");
  EXPECT_EQ(run.Wait(), 0);
  const std::string log = run.Log("chief-0");
  const std::string home = run.dir().path();
  for (const std::string& address : AddressesIn(log)) {
    EXPECT_THAT(address,
                MatchesRegex("unix:" + home + "/capstan-.{6}/[a-z]+-[0-9]"));
  }
  EXPECT_THAT(log, ContainsRegex("\n700 capstan-.{6}\n"));
  for (const auto& entry : std::filesystem::directory_iterator(home)) {
    EXPECT_EQ(entry.path().filename(), "runs");
  }
}

TEST(RunTest, TcpIfAskedFor) {
  RunProcess run("echo \"$TF_CONFIG\"", {.flags = {"--tcp"}});
  EXPECT_EQ(run.Wait(), 0);
  for (const std::string& address : AddressesIn(run.Log("chief-0"))) {
    EXPECT_THAT(address, StartsWith("127.0.0.1:"));
  }
}

TEST(RunTest, TlsIsPassedOn) {
  RunProcess run("echo \"tls $CAPSTAN_TLS\"", {.flags = {"--tls", "/tmp"}});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("chief/0: tls /tmp\n"));
}

TEST(RunTest, WorkersAreToldTheirShareOfTheCores) {
  RunProcess run("echo \"threads $OMP_NUM_THREADS\"");
  EXPECT_EQ(run.Wait(), 0);
  const unsigned share = std::max(1u, std::thread::hardware_concurrency() / 2);
  EXPECT_EQ(run.Log("worker-1"), "threads " + std::to_string(share) + "\n");
  EXPECT_EQ(run.Log("chief-0"), "threads \n");
}

TEST(RunTest, ServersShareTheMemoryAndMayOpenManyFiles) {
  // The chief ends when all servers have said what they were told.
  RunProcess run(
      "[ $CAPSTAN_TASK != chief/0 ] || "
      "until [ $(cat runs/*/logs/ps-?.log | wc -l) = 4 ]; do sleep 0.05; done",
      {.flags = {"-w", "1", "-s", "4"},
       .server = "echo \"$CAPSTAN_MEMORY MB, $(ulimit -n) files\"",
       .before = "ulimit -Sn 200"});
  EXPECT_EQ(run.Wait(), 0);
  const std::string told = run.Log("ps-0");
  for (const char* server : {"ps-1", "ps-2", "ps-3"}) {
    EXPECT_EQ(run.Log(server), told);
  }
  int megabytes = 0;
  unsigned long files = 0;
  ASSERT_EQ(std::sscanf(told.c_str(), "%d MB, %lu files", &megabytes, &files),
            2)
      << told;
  struct sysinfo machine = {};
  ASSERT_EQ(sysinfo(&machine), 0);
  const auto total = static_cast<double>(machine.totalram) * machine.mem_unit;
  EXPECT_GT(megabytes, 0);
  EXPECT_LE(4 * megabytes, total * 0.8 / 1e6);
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(files, std::min<rlim_t>(65'536, limit.rlim_max));
}

TEST(RunTest, ArgumentsArriveAsTheyAre) {
  RunProcess run(std::vector<std::string>{
      "run", "-w", "1", "--", "sh", "-c",
      "for a in \"$@\"; do echo \"<$a>\"; done", "-w", "", "[a,b]", "--", "++",
      "version", "--help", "a b"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.Log("chief-0"),
            "<>\n<[a,b]>\n<-->\n<++>\n<version>\n<--help>\n<a b>\n");
}

TEST(RunTest, TheLastLineMayLackItsEnd) {
  RunProcess run("printf 'no end'");
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("\nchief/0: no end\n"));
  EXPECT_EQ(run.Log("chief-0"), "no end");
}

TEST(RunTest, BinaryOutputIsKept) {
  RunProcess run("printf '\\000\\377\\n\\001'");
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.Log("chief-0"), std::string("\0\xff\n\1", 4));
}

TEST(RunTest, ALongLineIsCutOnTheScreenOnly) {
  RunProcess run(
      "case $CAPSTAN_TASK in chief/0) head -c 1000000 /dev/zero | tr '\\0' x;"
      "esac");
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(),
              HasSubstr("chief/0: " + std::string(65536, 'x') + "... (cut"));
  EXPECT_LT(run.output().size(), 70'000u);
  EXPECT_EQ(run.Log("chief-0"), std::string(1'000'000, 'x'));
}

TEST(RunTest, ATaskMayCloseItsOutput) {
  RunProcess run("echo open; exec >&- 2>&-; read line; exit 0");
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("worker/1: open\n"));
}

TEST(RunTest, ThereIsNothingToReadFromTheTerminal) {
  RunProcess run("cat; echo end");
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.Log("chief-0"), "end\n");
}

TEST(RunTest, AFullLogIsSaidOnce) {
  // More than 4 KiB cannot be written to any file.
  RunProcess run("head -c 10000 /dev/zero | tr '\\0' '\\n'; echo end",
                 {.before = "ulimit -f 8"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.After("logs are incomplete").size(), 1u) << run.output();
  for (const std::string task : {"chief/0", "worker/0", "worker/1"}) {
    EXPECT_THAT(run.output(), HasSubstr("\n" + task + ": end\n"));
  }
}

TEST(RunTest, ManyTasks) {
  RunProcess run("echo up",
                 {.flags = {"-w", "100", "-s", "10"}, .server = "echo up"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.After(": up").size(), 111u);
  EXPECT_THAT(run.output(), HasSubstr("\nworker/99: up\n"));
}

TEST(RunTest, UsageErrors) {
  RunProcess flag(std::vector<std::string>{"run", "--evalutor", "--", "sh"});
  EXPECT_EQ(flag.Wait(), 2);
  EXPECT_EQ(flag.output(),
            "capstan: unknown flag '--evalutor'; did you mean '--evaluator'? "
            "(see capstan run --help)\n");
  RunProcess marker(std::vector<std::string>{"run", "sh", "-c", "exit 0"});
  EXPECT_EQ(marker.Wait(), 2);
  EXPECT_EQ(marker.output(),
            "capstan: unknown '-c': put -- before PROGRAM and its arguments "
            "(see capstan run --help)\n");
  RunProcess nothing(std::vector<std::string>{"run"});
  EXPECT_EQ(nothing.Wait(), 2);
  EXPECT_THAT(nothing.output(), HasSubstr("PROGRAM is required"));
  RunProcess none(std::vector<std::string>{"run", "-w", "0", "--", "sh"});
  EXPECT_EQ(none.Wait(), 2);
  EXPECT_THAT(none.output(), HasSubstr("--workers"));
}

TEST(RunTest, HelpHasExamples) {
  RunProcess run(std::vector<std::string>{"run", "--help"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("capstan run -- ./train --epochs 3\n"));
}

}  // namespace
}  // namespace capstan::testing
