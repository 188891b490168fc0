#include "base/error.h"

#include <exception>
#include <new>
#include <string>

namespace capstan {
namespace {

// ErrorCode has the numbers of absl::StatusCode, without kOk.
constexpr bool SameNumber(ErrorCode code, absl::StatusCode status) {
  return static_cast<int>(code) == static_cast<int>(status);
}
static_assert(SameNumber(ErrorCode::kCancelled, absl::StatusCode::kCancelled));
static_assert(SameNumber(ErrorCode::kUnknown, absl::StatusCode::kUnknown));
static_assert(SameNumber(ErrorCode::kInvalidArgument,
                         absl::StatusCode::kInvalidArgument));
static_assert(SameNumber(ErrorCode::kDeadlineExceeded,
                         absl::StatusCode::kDeadlineExceeded));
static_assert(SameNumber(ErrorCode::kNotFound, absl::StatusCode::kNotFound));
static_assert(SameNumber(ErrorCode::kAlreadyExists,
                         absl::StatusCode::kAlreadyExists));
static_assert(SameNumber(ErrorCode::kPermissionDenied,
                         absl::StatusCode::kPermissionDenied));
static_assert(SameNumber(ErrorCode::kResourceExhausted,
                         absl::StatusCode::kResourceExhausted));
static_assert(SameNumber(ErrorCode::kFailedPrecondition,
                         absl::StatusCode::kFailedPrecondition));
static_assert(SameNumber(ErrorCode::kAborted, absl::StatusCode::kAborted));
static_assert(SameNumber(ErrorCode::kOutOfRange,
                         absl::StatusCode::kOutOfRange));
static_assert(SameNumber(ErrorCode::kUnimplemented,
                         absl::StatusCode::kUnimplemented));
static_assert(SameNumber(ErrorCode::kInternal, absl::StatusCode::kInternal));
static_assert(SameNumber(ErrorCode::kUnavailable,
                         absl::StatusCode::kUnavailable));
static_assert(SameNumber(ErrorCode::kDataLoss, absl::StatusCode::kDataLoss));
static_assert(SameNumber(ErrorCode::kUnauthenticated,
                         absl::StatusCode::kUnauthenticated));

absl::StatusCode StatusCodeOf(ErrorCode code) {
  int number = static_cast<int>(code);
  bool known = number >= static_cast<int>(ErrorCode::kCancelled) &&
               number <= static_cast<int>(ErrorCode::kUnauthenticated);
  return known ? static_cast<absl::StatusCode>(number)
               : absl::StatusCode::kUnknown;
}

absl::Status MakeStatus(ErrorCode code, std::string_view message,
                        std::string_view task) {
  absl::Status status(StatusCodeOf(code),
                      absl::string_view(message.data(), message.size()));
  return WithTask(std::move(status), task);
}

}  // namespace

std::string_view ErrorCodeName(ErrorCode code) noexcept {
  return CodeName(StatusCodeOf(code));
}

Error::Error(ErrorCode code, std::string_view message, std::string_view task)
    : std::runtime_error(Describe(MakeStatus(code, message, task))),
      code_(code),
      task_size_(task.size()),
      message_size_(message.size()) {}

// Defined here so that the class has one vtable and one type_info.
Error::~Error() = default;

std::string_view Error::message() const noexcept {
  std::size_t separator = task_size_ == 0 ? 0 : 2;  // ": ", as in Describe
  return {what() + task_size_ + separator, message_size_};
}

std::string_view Error::task() const noexcept { return {what(), task_size_}; }

Error ToError(const absl::Status& status) {
  if (status.ok()) return Error(ErrorCode::kInternal, "OK used as an error");
  std::string_view message(status.message().data(), status.message().size());
  return Error(static_cast<ErrorCode>(status.code()), message, TaskOf(status));
}

absl::Status ToStatus(const Error& error) {
  return MakeStatus(error.code(), error.message(), error.task());
}

absl::Status StatusOfCurrentException() {
  try {
    throw;
  } catch (const Error& error) {
    return ToStatus(error);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& exception) {
    return absl::UnknownError(exception.what());
  } catch (...) {
    return absl::UnknownError("an exception that is not a std::exception");
  }
}

void ThrowIfError(const absl::Status& status) {
  if (!status.ok()) throw ToError(status);
}

}  // namespace capstan
