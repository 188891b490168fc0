// The form of a task's address. To connect to one is the transport's business.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace capstan {

// OK for "host:port" and "[IPv6]:port" with a port from 1 to 65535,
// "unix:/path" and "inproc:name". Else InvalidArgument, quoting the address and
// saying what to write. Hosts are not looked up.
absl::Status ValidateAddress(std::string_view address);

// A text that is the same for addresses that differ in spelling alone: host
// names ignore case, ports leading zeros.
std::string CanonicalAddress(std::string_view address);

}  // namespace capstan
