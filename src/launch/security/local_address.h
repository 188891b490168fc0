// Which addresses belong to this machine, and whether they are free.
// Thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace capstan {

// Whether `number` ("10.0.0.3", "::1") is an address of this machine: loopback,
// any ("0.0.0.0"), or that of one of its interfaces.
bool IsLocalNumber(const std::string& number);

// Whether a task could listen on this number and port (1 to 65535) of this
// machine; does not listen. AlreadyExists if somebody listens there;
// PermissionDenied if this user may not; otherwise Unavailable, with the
// system's reason.
absl::Status TryPort(const std::string& number, int port);

}  // namespace capstan
