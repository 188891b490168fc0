#include "launch/security/local_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "launch/security/network_policy.h"
#include "launch/system/file_descriptor.h"

namespace capstan {
namespace {

std::string NumberOf(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> text = {};
  const int error = ::getnameinfo(address, size, text.data(), text.size(),
                                  nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? std::string(text.data()) : "";
}

absl::Status BindError(int error) {
  if (error == EADDRINUSE) return absl::AlreadyExistsError("in use");
  const std::string reason = std::strerror(error);
  return error == EACCES ? absl::PermissionDeniedError(reason)
                         : absl::UnavailableError(reason);
}

}  // namespace

bool IsLocalNumber(const std::string& number) {
  if (IsLoopback(number) || number == "0.0.0.0" || number == "::") return true;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return false;
  const absl::Cleanup free = [all] { ::freeifaddrs(all); };
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size =
        family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (NumberOf(one->ifa_addr, size) == number) return true;
  }
  return false;
}

absl::Status TryPort(const std::string& number, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(number.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) return absl::UnavailableError(::gai_strerror(error));
  const absl::Cleanup free = [found] { ::freeaddrinfo(found); };
  const FileDescriptor probe(
      ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return BindError(errno);
  // As tasks do: a port that was just in use counts as free.
  const int yes = 1;
  ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(probe.get(), found->ai_addr, found->ai_addrlen) != 0) {
    return BindError(errno);
  }
  return absl::OkStatus();
}

}  // namespace capstan
