#include "launch/security/network_policy.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "transport/tcp/address.h"

namespace capstan {
namespace {

constexpr std::string_view kInproc = "inproc:";

bool IsLoopbackV4(const in_addr& address) {
  return (ntohl(address.s_addr) >> 24) == IN_LOOPBACKNET;
}

bool IsLoopbackV6(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    in_addr mapped;
    std::memcpy(&mapped, &address.s6_addr[12], sizeof(mapped));
    return IsLoopbackV4(mapped);
  }
  return IN6_IS_ADDR_LOOPBACK(&address);
}

bool IsNumber(const std::string& host) {
  in_addr v4;
  in6_addr v6;
  // A zone, as in fe80::1%eth0, is not part of the number.
  const std::string number = host.substr(0, host.find('%'));
  return ::inet_pton(AF_INET, host.c_str(), &v4) == 1 ||
         ::inet_pton(AF_INET6, number.c_str(), &v6) == 1;
}

absl::StatusOr<bool> IsLoopbackHost(const std::string& host,
                                    const HostLookup& look_up) {
  if (IsNumber(host)) return IsLoopback(host);
  const absl::StatusOr<std::vector<std::string>> numbers = look_up(host);
  CAPSTAN_RETURN_IF_ERROR(numbers.status());
  return !numbers->empty() && std::all_of(numbers->begin(), numbers->end(),
                                          [](const std::string& number) {
                                            return IsLoopback(number);
                                          });
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LookUpHost(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "host '", host, "' cannot be looked up: ",
        error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error),
        "; check the name, or write its number"));
  }
  const absl::Cleanup free = [found] { ::freeaddrinfo(found); };
  std::vector<std::string> numbers;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text = {};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(),
                      nullptr, 0, NI_NUMERICHOST) == 0) {
      numbers.emplace_back(text.data());
    }
  }
  return numbers;
}

bool IsLoopback(std::string_view number) {
  const std::string text(number);
  in_addr v4;
  in6_addr v6;
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return IsLoopbackV4(v4);
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) return IsLoopbackV6(v6);
  return false;
}

absl::StatusOr<std::string> CheckListen(std::string_view address,
                                        const NetworkPolicy& policy,
                                        const HostLookup& look_up) {
  if (IsUnixAddress(address) || address.starts_with(kInproc)) {
    return std::string();
  }
  const absl::StatusOr<HostPort> parsed = ParseHostPort(address);
  CAPSTAN_RETURN_IF_ERROR(parsed.status());
  if (policy.tls) return std::string();
  const absl::StatusOr<bool> loopback = IsLoopbackHost(parsed->host, look_up);
  if (loopback.ok() && *loopback) return std::string();
  const std::string text(address);
  if (policy.insecure_network) {
    return absl::StrCat(
        "--insecure-network: whoever can reach ", text,
        " can read and change this job; nothing is encrypted, and no "
        "certificate is asked for");
  }
  CAPSTAN_RETURN_IF_ERROR(loopback.status());
  return absl::FailedPreconditionError(absl::StrCat(
      "other machines can reach ", text,
      ", and without TLS anyone there could read and change this job: give "
      "--tls DIR (`capstan certs DIR` makes it), or --insecure-network if you "
      "trust that network"));
}

}  // namespace capstan
