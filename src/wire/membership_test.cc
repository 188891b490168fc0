#include "wire/membership.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "wire/fence_limits.h"

namespace capstan {
namespace {

using testing::StatusIs;

TaskReport Report() {
  TaskReport report;
  report.task = "ps/1";
  report.version = "0.1.0";
  report.incarnation = UINT64_MAX;
  report.pid = 4321;
  report.uptime_ms = 5;
  report.resident_bytes = uint64_t{1} << 40;
  report.coordinator_term = {.term = 3, .holder = 9};
  report.insecure = true;
  report.generation = uint64_t{1} << 60;
  report.left_out = {0, 7};
  report.coordinator = "10.0.0.7:7077";
  report.hears = true;
  report.heard_ms = 250;
  report.program = UINT64_MAX - 3;
  report.definitions = {"function 'step', double(int)", "\xff"};
  return report;
}

TEST(MembershipTest, BeatsRoundTrip) {
  Beat beat;
  beat.coordinator_term = {.term = 7, .holder = UINT64_MAX};
  beat.address = "10.0.0.7:7077";
  beat.program = UINT64_MAX - 1;
  EXPECT_EQ(DecodeBeat(EncodeBeat(beat)).value(), beat);
  // A beat that only asks.
  beat.coordinator_term.term = 0;
  EXPECT_EQ(DecodeBeat(EncodeBeat(beat)).value(), beat);
}

TEST(MembershipTest, EndsRoundTrip) {
  const EndNotice notice{.coordinator_term = {.term = 7, .holder = 1},
                         .reason = "another program \xff"};
  EXPECT_EQ(DecodeEndNotice(EncodeEndNotice(notice)).value(), notice);
}

TEST(MembershipTest, NobodysOfficeIsRefused) {
  EXPECT_THAT(DecodeBeat(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeEndNotice(""),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(MembershipTest, TermsAreOrderedByTermThenByHolder) {
  EXPECT_LT((CoordinatorTerm{.term = 1, .holder = 9}),
            (CoordinatorTerm{.term = 2, .holder = 3}));
  EXPECT_LT((CoordinatorTerm{.term = 2, .holder = 3}),
            (CoordinatorTerm{.term = 2, .holder = 4}));
}

// No coordinator could ever take over from it.
TEST(MembershipTest, AnOfficeAboveAllTermsIsRefused) {
  for (const uint64_t term : {kTermLimit, UINT64_MAX}) {
    const CoordinatorTerm coordinator_term{.term = term, .holder = 1};
    Beat beat;
    beat.coordinator_term = coordinator_term;
    EXPECT_THAT(DecodeBeat(EncodeBeat(beat)),
                StatusIs(absl::StatusCode::kInvalidArgument));
    EndNotice notice;
    notice.coordinator_term = coordinator_term;
    EXPECT_THAT(DecodeEndNotice(EncodeEndNotice(notice)),
                StatusIs(absl::StatusCode::kInvalidArgument));
    TaskReport report = Report();
    report.coordinator_term = coordinator_term;
    EXPECT_THAT(DecodeTaskReport(EncodeTaskReport(report)),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  Beat last;
  last.coordinator_term = {.term = kTermLimit - 1, .holder = 1};
  EXPECT_EQ(DecodeBeat(EncodeBeat(last)).value(), last);
}

TEST(MembershipTest, TaskReportsRoundTrip) {
  EXPECT_EQ(DecodeTaskReport(EncodeTaskReport(Report())).value(), Report());
}

TEST(MembershipTest, JobReportsRoundTrip) {
  JobReport report;
  report.coordinator_term = {.term = 1, .holder = 2};
  report.tasks.resize(2);
  report.tasks[0].task = "ps/1";
  report.tasks[0].address = "127.0.0.1:7000";
  report.tasks[0].state = TaskState::kRestarted;
  report.tasks[0].since_ms = 1234;
  report.tasks[0].restarts = 2;
  report.tasks[0].report = Report();
  report.tasks[1].task = "worker/0";
  report.tasks[1].error = "connection refused \xff";
  EXPECT_EQ(DecodeJobReport(EncodeJobReport(report)).value(), report);
}

TEST(MembershipTest, JoinsRoundTrip) {
  const JoinRequest request{"10.0.0.7:7077"};
  EXPECT_EQ(DecodeJoinRequest(EncodeJoinRequest(request)).value(), request);
  const JoinReply reply{"worker/5", "ctr", R"({"worker": {"5": "a:1"}})"};
  EXPECT_EQ(DecodeJoinReply(EncodeJoinReply(reply)).value(), reply);
}

TEST(MembershipTest, GarbageIsRefused) {
  const std::string garbage(10, '\xff');
  EXPECT_THAT(DecodeBeat(garbage),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeEndNotice(garbage),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeTaskReport(garbage),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeJobReport(garbage),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeJoinRequest(garbage),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeJoinReply(garbage),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(MembershipTest, UnknownStatesAreRefused) {
  JobReport report;
  report.tasks.resize(1);
  report.tasks[0].state = static_cast<TaskState>(5);
  EXPECT_THAT(DecodeJobReport(EncodeJobReport(report)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(MembershipTest, StatesHaveNames) {
  EXPECT_EQ(TaskStateName(TaskState::kMissing), "missing");
  EXPECT_EQ(TaskStateName(TaskState::kRestarted), "restarted");
  EXPECT_EQ(TaskStateName(TaskState::kSilent), "silent");
  EXPECT_EQ(TaskStateName(static_cast<TaskState>(9)), "unknown");
}

}  // namespace
}  // namespace capstan
