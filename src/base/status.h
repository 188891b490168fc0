// Errors inside Capstan are values: absl::Status and absl::StatusOr, never
// ignored, never thrown. This header adds what absl lacks: the task that an
// error concerns, and two macros that propagate errors.
// Thread-safe: everything here is a value or a pure function.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan {

// Returns `status` marked as concerning `task` (such as "ps/1"). An OK status,
// or one that already names a task, is returned unchanged: the first to name
// the culprit is right. The message is unchanged.
absl::Status WithTask(absl::Status status, std::string_view task);

// The task that `status` concerns, or "" if it names none.
std::string TaskOf(const absl::Status& status);

// Returns `status` with "`context`: " prepended to its message; code and task
// are unchanged. An OK status is returned unchanged.
absl::Status WithContext(const absl::Status& status, std::string_view context);

// One line for people: "ps/1: connection refused (Unavailable)", without the
// task if there is none; "OK" for an OK status.
std::string Describe(const absl::Status& status);

// The code's name as in Describe: "Unavailable", "DeadlineExceeded", ...
std::string_view CodeName(absl::StatusCode code);

}  // namespace capstan

// Return (or, in a coroutine, co_return) the error of a Status expression.
#define CAPSTAN_RETURN_IF_ERROR(expression)          \
  do {                                               \
    absl::Status capstan_status = (expression);      \
    if (!capstan_status.ok()) return capstan_status; \
  } while (false)

#define CAPSTAN_CO_RETURN_IF_ERROR(expression)          \
  do {                                                  \
    absl::Status capstan_status = (expression);         \
    if (!capstan_status.ok()) co_return capstan_status; \
  } while (false)
