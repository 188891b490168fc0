#include "launch/doctor/check_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Duration kTimeout = std::chrono::seconds(2);

TaskProbe Answering() {
  TaskProbe probe;
  probe.task = {Role::kChief, 0};
  probe.address = "a:1";
  probe.report.version = "1.2.3";
  probe.round_trip = std::chrono::microseconds(85);
  return probe;
}

TaskProbe Missing() {
  TaskProbe probe;
  probe.task = {Role::kPs, 0};
  probe.address = "b:1";
  probe.status = absl::DeadlineExceededError("ps/0 at b:1: no");
  probe.connected = absl::UnavailableError("cannot connect to b:1: refused");
  return probe;
}

Finding CheckOne(const TaskProbe& probe) {
  return CheckTasks({probe}, kTimeout).front();
}

TEST(CheckTasksTest, TaskThatAnswersIsMeasured) {
  const Finding finding = CheckOne(Answering());
  EXPECT_EQ(finding.level, FindingLevel::kOk);
  EXPECT_THAT(finding.what, AllOf(HasSubstr("chief/0 at a:1"),
                                  HasSubstr("1.2.3"), HasSubstr("85 us")));
}

TEST(CheckTasksTest, InsecureTaskIsAWarning) {
  TaskProbe probe = Answering();
  probe.report.insecure = true;
  EXPECT_EQ(CheckOne(probe).level, FindingLevel::kWarning);
}

TEST(CheckTasksTest, MissingTaskIsAProblemOnlyOfARunningJob) {
  EXPECT_EQ(CheckOne(Missing()).level, FindingLevel::kWarning);
  const Findings findings = CheckTasks({Answering(), Missing()}, kTimeout);
  EXPECT_EQ(findings[0].level, FindingLevel::kOk);
  EXPECT_EQ(findings[1].level, FindingLevel::kProblem);
  EXPECT_THAT(findings[1].what, HasSubstr("ps/0: cannot connect to b:1"));
  EXPECT_NE(findings[1].remedy, "");
}

TEST(CheckTasksTest, SilenceOfTheNetworkIsAProblem) {
  TaskProbe probe = Missing();
  probe.tried = kTimeout;
  const Finding finding = CheckOne(probe);
  EXPECT_EQ(finding.level, FindingLevel::kProblem);
  EXPECT_THAT(finding.remedy, HasSubstr("firewall"));
}

TEST(CheckTasksTest, SomethingElseThatListensIsAProblem) {
  TaskProbe probe = Missing();
  probe.connected = absl::OkStatus();
  const Finding finding = CheckOne(probe);
  EXPECT_EQ(finding.level, FindingLevel::kProblem);
  EXPECT_THAT(finding.remedy, HasSubstr("another program"));
}

TEST(CheckTasksTest, RefusalsAreProblemsThatSayWhy) {
  TaskProbe probe = Missing();
  probe.connected = absl::OkStatus();
  probe.status = absl::FailedPreconditionError("ps/0 runs version 0.9");
  EXPECT_EQ(CheckOne(probe).level, FindingLevel::kProblem);
  EXPECT_THAT(CheckOne(probe).what, HasSubstr("version 0.9"));
  probe.status = absl::UnauthenticatedError("unknown CA");
  EXPECT_EQ(CheckOne(probe).level, FindingLevel::kProblem);
  EXPECT_THAT(CheckOne(probe).remedy, HasSubstr("same CA"));
}

}  // namespace
}  // namespace capstan
