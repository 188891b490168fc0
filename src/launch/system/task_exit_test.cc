#include "launch/system/task_exit.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

namespace capstan {
namespace {

TEST(TaskExitTest, Codes) {
  EXPECT_EQ(DescribeExit(W_EXITCODE(3, 0)), "failed with exit code 3");
  EXPECT_EQ(ExitCodeOf(W_EXITCODE(3, 0)), 3);
  EXPECT_EQ(ExitCodeOf(W_EXITCODE(0, 0)), 0);
}

TEST(TaskExitTest, Signals) {
  EXPECT_EQ(DescribeExit(W_EXITCODE(0, SIGSEGV)), "was killed by SIGSEGV");
  EXPECT_EQ(ExitCodeOf(W_EXITCODE(0, SIGKILL)), 137);
  EXPECT_EQ(DescribeExit(W_EXITCODE(0, SIGSEGV) | WCOREFLAG),
            "was killed by SIGSEGV");
  EXPECT_EQ(DescribeExit(W_EXITCODE(0, 40)), "was killed by signal 40");
}

}  // namespace
}  // namespace capstan
