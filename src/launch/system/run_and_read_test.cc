#include "launch/system/run_and_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr Duration kLong = std::chrono::seconds(60);

absl::StatusOr<std::string> Shell(const std::string& script,
                                  Duration timeout = kLong) {
  return RunAndRead("/bin/sh", {"sh", "-c", script}, {"A=1", "PATH=/bin"},
                    timeout);
}

TEST(RunAndReadTest, WhatItSays) {
  EXPECT_THAT(Shell("echo $A; echo two >&2"), IsOkAndHolds("1\ntwo\n"));
  EXPECT_THAT(Shell(""), IsOkAndHolds(""));
}

TEST(RunAndReadTest, ItsFailure) {
  EXPECT_THAT(Shell("echo sorry; exit 3"),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("3"), HasSubstr("sorry"))));
  EXPECT_THAT(Shell("kill -KILL $$"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(RunAndRead("/no/such", {"no"}, {}, kLong),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such")));
}

TEST(RunAndReadTest, NoMoreThanItsTimeAndRoom) {
  EXPECT_THAT(Shell("sleep 1000", std::chrono::milliseconds(50)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(Shell("head -c 200000 /dev/zero"), IsOkAndHolds(SizeIs(65536)));
}

}  // namespace
}  // namespace capstan
