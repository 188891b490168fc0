#include "cluster/address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "cluster/text.h"

namespace capstan {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kInproc = "inproc:";
constexpr size_t kMaxHost = 253;  // DNS limit
constexpr size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Bad(std::string_view address, std::string_view why) {
  return Invalid("address {}: {}", Quoted(address), why);
}

bool IsHostCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
         c == '.' || c == '_';
}

bool IsPrintable(char c) { return c > 0x20 && c < 0x7f; }

absl::Status ValidateUnix(std::string_view address) {
  const std::string_view path = address.substr(kUnix.size());
  if (!path.starts_with('/')) {
    return Bad(address, "write an absolute path, as unix:/run/capstan/ps0");
  }
  if (path.size() > kMaxUnixPath) {
    return Bad(address, fmt::format("the path has {} bytes, and the system "
                                    "allows {}; use a shorter one",
                                    path.size(), kMaxUnixPath));
  }
  return absl::OkStatus();
}

absl::Status ValidateHost(std::string_view address, std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    const std::string inner(host.substr(1, host.size() - 2));
    in6_addr ignored;
    // A zone, as in fe80::1%eth0, only means something to the machine that uses
    // the address.
    const std::string number = inner.substr(0, inner.find('%'));
    if (inet_pton(AF_INET6, number.c_str(), &ignored) == 1) {
      return absl::OkStatus();
    }
    return Bad(address, "what is in brackets is not an IPv6 address");
  }
  if (host.empty()) return Bad(address, "no host; write host:port");
  if (host.find(':') != std::string_view::npos) {
    return host.starts_with("//") || host.find("://") != std::string_view::npos
               ? Bad(address, "write host:port, without a scheme")
               : Bad(address,
                     "write an IPv6 address in brackets, as [::1]:7077");
  }
  if (!std::all_of(host.begin(), host.end(), IsHostCharacter)) {
    return Bad(address, "the host has a character that no host name has");
  }
  if (host.size() > kMaxHost) {
    return Bad(address,
               fmt::format("the host name is longer than {} bytes", kMaxHost));
  }
  return absl::OkStatus();
}

absl::Status ValidatePort(std::string_view address, std::string_view port) {
  const std::optional<int> number = ParseWhole(port, 0, 65535);
  if (!number.has_value()) {
    return Bad(address,
               fmt::format("{} is not a port; write a number from 1 to 65535",
                           Quoted(port)));
  }
  if (*number == 0) {
    return Bad(address,
               "port 0 is nowhere that others can connect to; give the task a "
               "fixed port from 1 to 65535");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateAddress(std::string_view address) {
  if (address.empty()) return Bad(address, "empty; write host:port");
  if (!std::all_of(address.begin(), address.end(), IsPrintable)) {
    return Bad(address,
               "a blank or an unprintable character in it; write host:port");
  }
  if (address.starts_with(kUnix)) return ValidateUnix(address);
  if (address.starts_with(kInproc)) {
    return address.size() > kInproc.size()
               ? absl::OkStatus()
               : Bad(address, "no name; write inproc:name");
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || address.ends_with(']')) {
    return Bad(address, "no port; write host:port");
  }
  const absl::Status host = ValidateHost(address, address.substr(0, colon));
  return host.ok() ? ValidatePort(address, address.substr(colon + 1)) : host;
}

std::string CanonicalAddress(std::string_view address) {
  std::string canonical(address);
  if (address.starts_with(kUnix) || address.starts_with(kInproc)) {
    return canonical;
  }
  std::transform(canonical.begin(), canonical.end(), canonical.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const size_t port = canonical.rfind(':') + 1;
  const size_t digit = canonical.find_first_not_of('0', port);
  if (digit != std::string::npos) canonical.erase(port, digit - port);
  return canonical;
}

}  // namespace capstan
