// Which addresses are this machine's, and whether they are free.
// Thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace capstan {

// Whether a number ("10.0.0.3", "::1") is an address of this machine: loopback,
// any ("0.0.0.0"), or of one of its interfaces.
bool IsLocalNumber(const std::string& number);

// Whether a task could listen on that number and port (1 to 65535) of this
// machine, without listening. AlreadyExists if somebody does; PermissionDenied
// if this user may not; else Unavailable, with the system's reason.
absl::Status TryPort(const std::string& number, int port);

}  // namespace capstan
