// The boundary between Status inside Capstan and exceptions outside: the only
// file that maps one to the other. Public entry points call ThrowIfError or
// ValueOrThrow; code that runs a user's function catches everything it throws
// with StatusOfCurrentException.
// Thread-safe: pure functions.
#pragma once

#include <utility>

#include "base/status.h"
#include "capstan/error.h"

namespace capstan {

// The exception for `status`: same code, message and task. An OK status is a
// bug in the caller, and gives an Error of code kInternal that says so.
Error ToError(const absl::Status& status);

// The status for `error`: same code, message and task. A code that is not an
// ErrorCode gives kUnknown, never OK.
absl::Status ToStatus(const Error& error);

// Inside a catch block: the status for the exception being handled. An Error
// keeps its code and task; std::bad_alloc gives kResourceExhausted, any other
// std::exception kUnknown with its what(), anything else kUnknown.
absl::Status StatusOfCurrentException();

// Throws ToError(status) unless `status` is OK.
void ThrowIfError(const absl::Status& status);

// The value of `result`, or throws the Error for its status.
template <typename T>
T ValueOrThrow(absl::StatusOr<T> result) {
  ThrowIfError(result.status());
  return *std::move(result);
}

}  // namespace capstan
