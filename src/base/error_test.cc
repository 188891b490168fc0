#include "base/error.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <type_traits>

namespace capstan {
namespace {

TEST(ErrorTest, SaysWhoWhatAndWhichKind) {
  Error error(ErrorCode::kUnavailable, "connection refused", "ps/1");
  EXPECT_STREQ(error.what(), "ps/1: connection refused (Unavailable)");
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_EQ(error.message(), "connection refused");
  EXPECT_EQ(error.task(), "ps/1");
}

TEST(ErrorTest, NeedsNoTask) {
  Error error(ErrorCode::kNotFound, "no variable \"w\"");
  EXPECT_STREQ(error.what(), "no variable \"w\" (NotFound)");
  EXPECT_EQ(error.message(), "no variable \"w\"");
  EXPECT_EQ(error.task(), "");
}

TEST(ErrorTest, NeedsNoMessage) {
  Error error(ErrorCode::kAborted, "", "worker/0");
  EXPECT_EQ(error.message(), "");
  EXPECT_EQ(error.task(), "worker/0");
}

TEST(ErrorTest, KeepsAMessageWithZeroBytes) {
  std::string message("a\0b", 3);
  EXPECT_EQ(Error(ErrorCode::kDataLoss, message, "ps/0").message(), message);
}

TEST(ErrorTest, CopiesWithoutThrowing) {
  static_assert(std::is_nothrow_copy_constructible_v<Error>);
  static_assert(std::is_nothrow_copy_assignable_v<Error>);
  auto original =
      std::make_unique<Error>(ErrorCode::kInternal, "message", "ps/0");
  Error copy = *original;
  original.reset();
  EXPECT_EQ(copy.message(), "message");
  EXPECT_EQ(copy.task(), "ps/0");
}

TEST(ErrorTest, EveryCodeSurvivesTheRoundTrip) {
  for (int number = 1; number <= 16; ++number) {
    Error error(static_cast<ErrorCode>(number), "message", "worker/3");
    absl::Status status = ToStatus(error);
    EXPECT_EQ(static_cast<int>(status.code()), number);
    EXPECT_EQ(TaskOf(status), "worker/3");
    Error back = ToError(status);
    EXPECT_EQ(back.code(), error.code());
    EXPECT_EQ(back.message(), error.message());
    EXPECT_EQ(back.task(), error.task());
    EXPECT_NE(ErrorCodeName(error.code()), "OK");
  }
}

TEST(ErrorTest, UnknownCodesNeverBecomeOk) {
  for (int number : {-1, 0, 17, 1 << 20}) {
    Error error(static_cast<ErrorCode>(number), "message");
    EXPECT_EQ(ToStatus(error).code(), absl::StatusCode::kUnknown);
    EXPECT_EQ(error.message(), "message");
    EXPECT_EQ(ErrorCodeName(error.code()), "Unknown");
  }
}

TEST(ErrorTest, OkIsNoError) {
  EXPECT_EQ(ToError(absl::OkStatus()).code(), ErrorCode::kInternal);
}

TEST(ErrorTest, ThrowIfErrorThrowsOnlyErrors) {
  EXPECT_NO_THROW(ThrowIfError(absl::OkStatus()));
  try {
    ThrowIfError(WithTask(absl::NotFoundError("gone"), "ps/2"));
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_EQ(error.task(), "ps/2");
  }
}

TEST(ErrorTest, ValueOrThrowMovesTheValueOut) {
  absl::StatusOr<std::unique_ptr<int>> good = std::make_unique<int>(7);
  EXPECT_EQ(*ValueOrThrow(std::move(good)), 7);
  absl::StatusOr<int> bad = absl::OutOfRangeError("past the end");
  EXPECT_THROW(ValueOrThrow(bad), Error);
}

template <typename Exception>
absl::Status StatusOf(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return StatusOfCurrentException();
  }
}

TEST(ErrorTest, MapsWhateverUserCodeThrows) {
  Error error(ErrorCode::kDeadlineExceeded, "late", "ps/0");
  EXPECT_EQ(StatusOf(error).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(TaskOf(StatusOf(error)), "ps/0");
  EXPECT_EQ(StatusOf(std::bad_alloc()).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(StatusOf(std::out_of_range("vector")),
            absl::UnknownError("vector"));
  EXPECT_EQ(StatusOf(42).code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace capstan
