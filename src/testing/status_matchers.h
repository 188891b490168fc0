// GoogleTest matchers for absl::Status and absl::StatusOr, so that a failing
// test prints the status. Test-only.
//
//   ASSERT_OK(file->Sync());
//   EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
//                                HasSubstr("model/a")));
//   EXPECT_THAT(ReadFile(...), IsOkAndHolds("text"));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"

namespace capstan::testing {

// The status of either type, so that each matcher accepts both.
inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Matches an OK status, or a StatusOr that holds a value.
MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  *result_listener << "which is " << Describe(StatusOf(arg));
  return StatusOf(arg).ok();
}

// Matches a status of the given code, with a message that `message` matches.
MATCHER_P2(StatusIs, code, message,
           "has code " + std::string(CodeName(code)) + " and a message that " +
               ::testing::DescribeMatcher<std::string>(message, negation)) {
  const absl::Status& status = StatusOf(arg);
  *result_listener << "which is " << Describe(status);
  return status.code() == code &&
         ::testing::ExplainMatchResult(message, std::string(status.message()),
                                       result_listener);
}

// Matches a status of the given code, with any message.
inline auto StatusIs(absl::StatusCode code) {
  return StatusIs(code, ::testing::_);
}

// Matches a StatusOr that holds a value that `value` matches.
MATCHER_P(IsOkAndHolds, value, "is OK and holds what the matcher expects") {
  if (!arg.ok()) {
    *result_listener << "which is " << Describe(arg.status());
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace capstan::testing

#define EXPECT_OK(expression) \
  EXPECT_THAT((expression), ::capstan::testing::IsOk())
#define ASSERT_OK(expression) \
  ASSERT_THAT((expression), ::capstan::testing::IsOk())
