// The syntax of task addresses. Connecting to them is the transport's job.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace capstan {

// OK for "host:port" and "[IPv6]:port" with a port from 1 to 65535,
// "unix:/path" and "inproc:name". Otherwise InvalidArgument, quoting the
// address and saying what to write. Hosts are not looked up.
absl::Status ValidateAddress(std::string_view address);

// A canonical text, equal for addresses that differ only in spelling: host
// names are case-insensitive, and leading zeros in ports do not count.
std::string CanonicalAddress(std::string_view address);

}  // namespace capstan
