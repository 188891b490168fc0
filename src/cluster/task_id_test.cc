#include "cluster/task_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "capstan/error.h"
#include "cluster/mistake_test.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::Mistake;
using ::capstan::testing::MistakeName;
using ::capstan::testing::Reports;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(RoleTest, NamesAreTensorFlows) {
  EXPECT_EQ(RoleName(Role::kChief), "chief");
  EXPECT_EQ(RoleName(Role::kWorker), "worker");
  EXPECT_EQ(RoleName(Role::kPs), "ps");
  EXPECT_EQ(RoleName(Role::kEvaluator), "evaluator");
  EXPECT_EQ(RoleName(static_cast<Role>(4)), "invalid");
  EXPECT_EQ(RoleName(static_cast<Role>(-1)), "invalid");
}

TEST(RoleTest, NamesAreParsedBack) {
  for (const Role role : kRoles) {
    EXPECT_THAT(ParseRole(RoleName(role)), IsOkAndHolds(role));
    EXPECT_THAT(ParseJobName(RoleName(role)), IsOkAndHolds(role));
  }
}

TEST(RoleTest, UnknownNamesAreRefused) {
  EXPECT_THAT(ParseRole("some_job"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("unrecognized task type \"some_job\""),
                             HasSubstr("chief, worker, ps, evaluator"))));
  EXPECT_THAT(ParseJobName("some_job"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("disallowed task type \"some_job\""),
                             HasSubstr("chief, worker, ps, evaluator"))));
}

TEST(RoleTest, NamesOfOtherSystemsAreTranslated) {
  const auto says = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(ParseJobName("master"), says("the master is called \"chief\""));
  EXPECT_THAT(ParseJobName("coordinator"), says("is called \"chief\" here"));
  EXPECT_THAT(ParseJobName("server"), says("is called \"ps\" here"));
  EXPECT_THAT(ParseRole("Worker"), says("did you mean \"worker\"?"));
}

TEST(TaskIdTest, TextsAreParsedBack) {
  EXPECT_EQ((TaskId{Role::kWorker, 3}.ToString()), "worker/3");
  EXPECT_EQ(TaskId::Parse("ps/0"), (TaskId{Role::kPs, 0}));
  EXPECT_EQ(TaskId::Parse("worker/999999"),
            (TaskId{Role::kWorker, TaskId::kMaxIndex}));
}

RC_GTEST_PROP(TaskIdProperty, ReadsBackWhatIsWritten, ()) {
  const TaskId task{kRoles[*rc::gen::inRange<size_t>(0, kRoles.size())],
                    *rc::gen::inRange(0, TaskId::kMaxIndex + 1)};
  RC_ASSERT(*ParseTaskId(task.ToString()) == task);
}

TEST(TaskIdTest, OrderIsByRoleThenIndex) {
  EXPECT_LT((TaskId{Role::kChief, 5}), (TaskId{Role::kWorker, 0}));
  EXPECT_LT((TaskId{Role::kWorker, 2}), (TaskId{Role::kWorker, 10}));
}

TEST(TaskIdTest, ParseThrows) {
  try {
    TaskId::Parse("boss/1");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("\"boss\""));
  }
}

class BadTaskTest : public ::testing::TestWithParam<Mistake<std::string>> {};

TEST_P(BadTaskTest, SaysWhatIsWrong) {
  EXPECT_THAT(ParseTaskId(GetParam().input), Reports(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTaskTest,
    ::testing::ValuesIn(std::vector<Mistake<std::string>>{
        {"Empty", "", {"\"\" is not a task", "as worker/0"}},
        {"NoSlash", "worker3", {"\"worker3\"", "as worker/0"}},
        {"Colon", "worker:3", {"\"worker:3\"", "as worker/0"}},
        {"NoIndex", "worker/", {"\"worker/\"", "\"\" is not an index"}},
        {"NoType", "/3", {"unrecognized task type \"\""}},
        {"Negative", "worker/-1", {"\"-1\" is not an index from 0"}},
        {"Text", "worker/one", {"\"one\" is not an index"}},
        {"TwoSlashes", "worker/1/2", {"\"1/2\" is not an index"}},
        {"TooLarge", "worker/1000000", {"from 0 to 999999"}},
        {"Plural", "workers/1", {"did you mean \"worker\"?"}},
    }),
    MistakeName());

}  // namespace
}  // namespace capstan
