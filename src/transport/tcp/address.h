// Parses the text of an address.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace capstan {

struct HostPort {
  std::string host;
  std::string port;  // digits, 0 to 65535
};

// Parses "host:port" or "[v6]:port". InvalidArgument, saying what is wrong.
absl::StatusOr<HostPort> ParseHostPort(std::string_view address);

// Whether `address` names a Unix socket ("unix:/path").
bool IsUnixAddress(std::string_view address);

// The path of a Unix address. InvalidArgument if it is empty or longer than
// the kernel's limit.
absl::StatusOr<std::string> ParseUnixPath(std::string_view address);

}  // namespace capstan
