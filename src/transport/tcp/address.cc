#include "transport/tcp/address.h"

#include <sys/un.h>

#include <charconv>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

absl::Status Bad(std::string_view address, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("address '", std::string(address), "': ", std::string(why)));
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) {
    return Bad(address, "no port; write host:port");
  }
  std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return Bad(address, "write an IPv6 address in brackets, as [::1]:7000");
  }
  if (host.empty()) return Bad(address, "no host; write host:port");
  unsigned number = 0;
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() ||
      number > 65535) {
    return Bad(address, absl::StrCat("'", std::string(port),
                                     "' is not a port (0 to 65535)"));
  }
  return HostPort{std::string(host), std::string(port)};
}

bool IsUnixAddress(std::string_view address) {
  return address.starts_with(kUnixPrefix);
}

absl::StatusOr<std::string> ParseUnixPath(std::string_view address) {
  const std::string path(address.substr(kUnixPrefix.size()));
  if (path.empty()) return Bad(address, "no path");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Bad(address, absl::StrCat("the path has ", path.size(),
                                     " bytes; the kernel allows ",
                                     sizeof(sockaddr_un::sun_path) - 1));
  }
  return path;
}

}  // namespace capstan
