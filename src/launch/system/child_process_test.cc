#include "launch/system/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::HasSubstr;

// A child is this test program again, with a filter that ends in a star and
// selects one of the ChildTests; under any other filter they do nothing.
bool IsChild() {
  const std::string filter = GTEST_FLAG_GET(filter);
  return filter.size() > 1 && filter.back() == '*';
}

ChildProcess StartChild(const std::string& test) {
  absl::StatusOr<ChildProcess> child =
      ChildProcess::Start({"--gtest_filter=ChildTest." + test + "*"});
  EXPECT_OK(child);
  return *std::move(child);
}

TEST(ChildTest, ReportsAndWaits) {
  if (!IsChild()) return;
  if (!ReportReady("127.0.0.1:7000").ok()) _exit(9);
  pause();
}

TEST(ChildTest, ExitsWith3) {
  if (IsChild()) _exit(3);
}

TEST(ChildTest, ExitsWith0) {
  if (IsChild()) _exit(0);
}

TEST(ChildProcessTest, ReportsItsLine) {
  ChildProcess child = StartChild("ReportsAndWaits");
  EXPECT_THAT(child.WaitReady(), IsOkAndHolds("127.0.0.1:7000"));
}

TEST(ChildProcessTest, EndBeforeReadyIsAnError) {
  ChildProcess child = StartChild("ExitsWith3");
  EXPECT_THAT(child.WaitReady(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(child.Wait(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("code 3")));
}

TEST(ChildProcessTest, CleanExitIsOk) {
  ChildProcess child = StartChild("ExitsWith0");
  EXPECT_OK(child.Wait());
}

TEST(ChildProcessTest, TerminateNamesTheSignal) {
  ChildProcess child = StartChild("ReportsAndWaits");
  ASSERT_OK(child.WaitReady());
  child.Terminate();
  EXPECT_THAT(child.Wait(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("Terminated")));
}

TEST(ChildProcessTest, DestructionKills) {
  pid_t pid;
  {
    ChildProcess child = StartChild("ReportsAndWaits");
    ASSERT_OK(child.WaitReady());
    ChildProcess moved = std::move(child);
    pid = moved.pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

}  // namespace
}  // namespace capstan
