#include "base/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOk;
using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

absl::Status Refused() { return absl::UnavailableError("connection refused"); }

TEST(StatusTest, TaskIsKept) {
  const absl::Status status = WithTask(Refused(), "ps/1");
  EXPECT_EQ(TaskOf(status), "ps/1");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "connection refused");
}

TEST(StatusTest, FirstTaskWins) {
  EXPECT_EQ(TaskOf(WithTask(WithTask(Refused(), "ps/1"), "worker/0")), "ps/1");
}

TEST(StatusTest, NoTaskIsEmpty) {
  EXPECT_EQ(TaskOf(Refused()), "");
  EXPECT_EQ(TaskOf(WithTask(Refused(), "")), "");
  EXPECT_EQ(TaskOf(WithTask(WithTask(Refused(), ""), "ps/2")), "ps/2");
}

TEST(StatusTest, OkHasNeitherTaskNorContext) {
  EXPECT_EQ(TaskOf(absl::OkStatus()), "");
  EXPECT_EQ(WithTask(absl::OkStatus(), "ps/1"), absl::OkStatus());
  EXPECT_EQ(TaskOf(WithTask(absl::OkStatus(), "ps/1")), "");
  EXPECT_EQ(WithContext(absl::OkStatus(), "pull"), absl::OkStatus());
}

TEST(StatusTest, ContextIsPutBeforeAndKeepsTheTask) {
  const absl::Status status =
      WithContext(WithTask(Refused(), "ps/1"), "pull of \"w\"");
  EXPECT_EQ(status.message(), "pull of \"w\": connection refused");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(TaskOf(status), "ps/1");
  EXPECT_EQ(WithContext(WithContext(Refused(), "a"), "b").message(),
            "b: a: connection refused");
}

TEST(StatusTest, DescribeIsOneLine) {
  EXPECT_EQ(Describe(absl::OkStatus()), "OK");
  EXPECT_EQ(Describe(Refused()), "connection refused (Unavailable)");
  EXPECT_EQ(Describe(WithTask(Refused(), "ps/1")),
            "ps/1: connection refused (Unavailable)");
}

TEST(StatusTest, CodeNamesAreDistinct) {
  std::set<std::string_view> names;
  for (int code = 0; code <= 16; ++code) {
    names.insert(CodeName(static_cast<absl::StatusCode>(code)));
  }
  EXPECT_EQ(names.size(), 17u);
  EXPECT_EQ(CodeName(absl::StatusCode::kDeadlineExceeded), "DeadlineExceeded");
  EXPECT_EQ(CodeName(static_cast<absl::StatusCode>(99)), "Unknown");
}

absl::Status PassOn(const absl::Status& status, int* reached) {
  CAPSTAN_RETURN_IF_ERROR(status);
  ++*reached;
  return absl::OkStatus();
}

absl::StatusOr<int> PassOnAsStatusOr(const absl::Status& status) {
  CAPSTAN_RETURN_IF_ERROR(status);
  return 7;
}

TEST(StatusTest, ReturnIfErrorPassesErrorsOnWhole) {
  int reached = 0;
  EXPECT_OK(PassOn(absl::OkStatus(), &reached));
  EXPECT_EQ(reached, 1);
  const absl::Status error = WithTask(Refused(), "ps/1");
  EXPECT_EQ(PassOn(error, &reached), error);
  EXPECT_EQ(reached, 1);
  EXPECT_THAT(PassOnAsStatusOr(absl::OkStatus()), IsOkAndHolds(7));
  EXPECT_EQ(PassOnAsStatusOr(error).status(), error);
}

TEST(StatusTest, ReturnIfErrorEvaluatesOnce) {
  int calls = 0;
  auto run = [&]() -> absl::Status {
    CAPSTAN_RETURN_IF_ERROR((++calls, Refused()));
    return absl::OkStatus();
  };
  EXPECT_THAT(run(), Not(IsOk()));
  EXPECT_EQ(calls, 1);
}

// The matchers are tested here, next to the type that they match.
TEST(StatusMatchersTest, MatchCodeAndMessage) {
  EXPECT_THAT(Refused(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(Refused(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("refused")));
  EXPECT_THAT(Refused(), Not(StatusIs(absl::StatusCode::kNotFound)));
  EXPECT_THAT(Refused(),
              Not(StatusIs(absl::StatusCode::kUnavailable, "something else")));
  const absl::StatusOr<int> error = Refused();
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(error, Not(IsOk()));
  EXPECT_THAT(error, Not(IsOkAndHolds(7)));
  const absl::StatusOr<int> value = 7;
  EXPECT_THAT(value, IsOk());
  EXPECT_THAT(value, Not(IsOkAndHolds(8)));
  EXPECT_THAT(value, IsOkAndHolds(::testing::Gt(6)));
  EXPECT_OK(value);
}

TEST(StatusMatchersTest, FailureShowsTheStatus) {
  ::testing::StringMatchResultListener listener;
  const absl::Status status = WithTask(Refused(), "ps/1");
  EXPECT_FALSE(::testing::ExplainMatchResult(
      StatusIs(absl::StatusCode::kNotFound), status, &listener));
  EXPECT_THAT(listener.str(), HasSubstr("ps/1: connection refused"));
}

}  // namespace
}  // namespace capstan
