// How Capstan reports failure to its users: every function of the public API
// throws capstan::Error, and no other exception of its own, unless its comment
// says that it cannot fail.
//
//   try {
//     coordinator.Join();
//   } catch (const capstan::Error& error) {
//     if (error.code() == capstan::ErrorCode::kUnavailable) {
//       Retry(error.task());
//     }
//     std::cerr << error.what() << '\n';
//   }
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string_view>

#include "capstan/export.h"

namespace capstan {

// The kind of failure; decide on this, never on the text. The numbers are those
// of gRPC's status codes, are carried on the wire and never change.
enum class ErrorCode : int {
  kCancelled = 1,           // The caller gave up.
  kUnknown = 2,             // An exception that is not a capstan::Error.
  kInvalidArgument = 3,     // Wrong in any state: fix the call.
  kDeadlineExceeded = 4,    // Not done in time; it may still happen.
  kNotFound = 5,            // The named thing does not exist.
  kAlreadyExists = 6,       // The name is taken.
  kPermissionDenied = 7,    // Known, but not allowed.
  kResourceExhausted = 8,   // Out of memory, disk or a configured limit.
  kFailedPrecondition = 9,  // Wrong in this state: change the state first.
  kAborted = 10,            // Overtaken by events, such as a newer view.
  kOutOfRange = 11,         // An index or id past the end.
  kUnimplemented = 12,      // Not in this version.
  kInternal = 13,           // A bug in Capstan: please report it.
  kUnavailable = 14,        // A task cannot be reached; retrying may help.
  kDataLoss = 15,           // Stored or received data is damaged.
  kUnauthenticated = 16,    // No valid credentials.
};

// The name of the code, such as "Unavailable"; "Unknown" for any other number.
// Cannot fail; the text is valid forever.
CAPSTAN_EXPORT std::string_view ErrorCodeName(ErrorCode code) noexcept;

// A failure: its code, a message that says what to do about it in one line,
// and the task it concerns.
//
// A value, immutable once made; copying it cannot throw. Thread-safe.
class CAPSTAN_EXPORT Error : public std::runtime_error {
 public:
  // `task` is the task at fault, such as "ps/1"; empty if there is none to
  // name. Copies both texts.
  Error(ErrorCode code, std::string_view message, std::string_view task = {});
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;
  ~Error() override;

  // One line for people: "ps/1: connection refused (Unavailable)", without
  // the task if there is none.
  using std::runtime_error::what;

  ErrorCode code() const noexcept { return code_; }

  // The message alone, and the task alone, or "" if it names none. Both are
  // views of what(): they live as long as this object or a copy of it.
  std::string_view message() const noexcept;
  std::string_view task() const noexcept;

 private:
  ErrorCode code_;
  std::size_t task_size_;
  std::size_t message_size_;
};

}  // namespace capstan
