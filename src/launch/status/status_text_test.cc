#include "launch/status/status_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/refusal.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TaskEntry Entry(const std::string& task, TaskState state) {
  TaskEntry entry;
  entry.task = task;
  entry.address = "127.0.0.1:1";
  entry.state = state;
  entry.report.incarnation = state == TaskState::kHealthy ? 1 : 0;
  return entry;
}

TEST(StatusTextTest, AJobThatRuns) {
  JobStatus status;
  status.term = 2;
  status.tasks = {Entry("chief/0", TaskState::kHealthy),
                  Entry("ps/0", TaskState::kHealthy)};
  const std::string text = StatusText("ctr", status, false);
  EXPECT_THAT(text, AllOf(StartsWith("job ctr, term 2\nTASK"),
                          HasSubstr("\nchief/0"), HasSubstr("\nps/0")));
}

TEST(StatusTextTest, AChiefThatDoesNotAnswer) {
  JobStatus status;
  status.chief = absl::DeadlineExceededError("no answer within 2 s");
  status.term = 2;
  status.tasks = {Entry("chief/0", TaskState::kSilent),
                  Entry("ps/0", TaskState::kHealthy)};
  status.tasks[0].since_ms = 12'345;
  status.tasks[0].error = "chief/0: no answer within 2 s\x1b";
  EXPECT_EQ(status.CountThere(), 1u);
  EXPECT_THAT(StatusText("ctr", status, false),
              AllOf(StartsWith("job ctr, term 2: chief/0 does not answer; the "
                               "other tasks last heard it 12.3 s ago\nTASK"),
                    HasSubstr("silent for 12.3 s"), HasSubstr("healthy"),
                    HasSubstr("\nchief/0: no answer within 2 s\\x1b\n")));
}

TEST(StatusTextTest, AChiefThatIsNotThere) {
  JobStatus status;
  status.chief = Refusal("connection refused");
  status.term = 2;
  status.tasks = {Entry("chief/0", TaskState::kMissing),
                  Entry("ps/0", TaskState::kHealthy)};
  EXPECT_THAT(StatusText("ctr", status, false),
              StartsWith("job ctr, term 2: chief/0 is not running\nTASK"));
  status.chief = absl::UnauthenticatedError("no job token");
  EXPECT_THAT(StatusText("ctr", status, false),
              StartsWith("job ctr, term 2: chief/0 cannot be asked\nTASK"));
  // The others have not heard of a chief yet.
  status.term = 0;
  EXPECT_THAT(StatusText("ctr", status, false),
              StartsWith("job ctr: chief/0 cannot be asked\nTASK"));
}

TEST(StatusTextTest, AJobThatDoesNotRun) {
  JobStatus status;
  status.chief = Refusal("connection refused");
  status.nobody_listens = true;
  status.tasks = {Entry("chief/0", TaskState::kMissing),
                  Entry("ps/0", TaskState::kMissing)};
  EXPECT_EQ(StatusText("ctr", status, true),
            "job ctr is not running: nobody listens at any of its 2 addresses; "
            "it has ended, or was not started\n");
}

TEST(StatusTextTest, AJobThatCannotBeReached) {
  JobStatus status;
  status.chief = absl::DeadlineExceededError("no answer");
  status.tasks = {Entry("chief/0", TaskState::kSilent),
                  Entry("ps/0", TaskState::kMissing)};
  EXPECT_THAT(StatusText("ctr", status, false),
              AllOf(StartsWith("job ctr: no task answers\nTASK"),
                    Not(HasSubstr("healthy"))));
}

TEST(StatusTextTest, AJobThatHasEnded) {
  EXPECT_EQ(
      ResultText("ctr", {0, "2026-11-18 12:40:59 UTC", ""}, "runs/a/logs"),
      "job ctr finished at 2026-11-18 12:40:59 UTC with exit code 0; logs "
      "in runs/a/logs\n");
  EXPECT_EQ(ResultText("ctr", {7, "2026-11-18 12:40:59 UTC", "ps/0 died"},
                       "runs/a/logs"),
            "job ctr ended at 2026-11-18 12:40:59 UTC with exit code 7 (ps/0 "
            "died); logs in runs/a/logs\n");
}

}  // namespace
}  // namespace capstan
