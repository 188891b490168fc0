#include "wire/error_body.h"

#include <gtest/gtest.h>

#include <string>

#include "base/status.h"
#include "rapidcheck/gtest.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::testing::StartsWith;

absl::Status Trip(const absl::Status& status) {
  return DecodeError(static_cast<uint16_t>(status.code()),
                     EncodeErrorBody(status));
}

TEST(ErrorBodyTest, CodeMessageAndTaskSurviveTheTrip) {
  const absl::Status status =
      WithTask(absl::NotFoundError("no variable 'w'"), "ps/1");
  const absl::Status back = Trip(status);
  EXPECT_THAT(back, StatusIs(absl::StatusCode::kNotFound, "no variable 'w'"));
  EXPECT_EQ(TaskOf(back), "ps/1");
}

TEST(ErrorBodyTest, WithoutATask) {
  const absl::Status back = Trip(absl::InternalError(""));
  EXPECT_THAT(back, StatusIs(absl::StatusCode::kInternal, ""));
  EXPECT_EQ(TaskOf(back), "");
}

// Paths and names in messages need not be UTF-8.
RC_GTEST_PROP(ErrorBodyTest, AnyTextSurvivesTheTrip,
              (const std::string& text)) {
  const absl::Status back = Trip(absl::UnknownError(text));
  RC_ASSERT(back.code() == absl::StatusCode::kUnknown);
  RC_ASSERT(std::string(back.message()) == text);
}

TEST(ErrorBodyTest, LongMessagesAreCutWhereverThatFalls) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'a');
    while (text.size() < 40'000) text += "\u20ac";
    const absl::Status back = Trip(absl::UnknownError(text));
    EXPECT_THAT(back, StatusIs(absl::StatusCode::kUnknown,
                               StartsWith(text.substr(0, 1'000))));
    EXPECT_LT(back.message().size(), 16u << 10);
  }
}

TEST(ErrorBodyTest, BodyThatCannotBeParsed) {
  EXPECT_THAT(DecodeError(5, "\xff\xff\xff\xff"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(DecodeError(0, "whatever"));
}

}  // namespace
}  // namespace capstan
