// Tables of user mistakes: what the user wrote, and what the message must say.
// Each row is a separate test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "testing/status_matchers.h"

namespace capstan::testing {

template <typename Input>
struct Mistake {
  std::string name;  // of the test
  Input input;
  std::vector<std::string> says;  // each must be in the message
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;

  friend void PrintTo(const Mistake& mistake, std::ostream* out) {
    *out << mistake.name;
  }
};

// Names a row for GoogleTest.
struct MistakeName {
  template <typename Input>
  std::string operator()(
      const ::testing::TestParamInfo<Mistake<Input>>& info) const {
    return info.param.name;
  }
};

// Matches a status or a StatusOr that reports the mistake on one line.
MATCHER_P(Reports, mistake, "reports the mistake " + mistake.name) {
  const absl::Status& status = StatusOf(arg);
  const std::string message(status.message());
  *result_listener << "which is " << Describe(status);
  if (status.code() != mistake.code) return false;
  if (message.find('\n') != std::string::npos) return false;
  for (const std::string& text : mistake.says) {
    if (message.find(text) == std::string::npos) {
      *result_listener << ", without " << text;
      return false;
    }
  }
  return true;
}

}  // namespace capstan::testing
