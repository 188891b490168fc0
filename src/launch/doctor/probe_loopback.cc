#include "launch/doctor/probe_loopback.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/real_clock.h"
#include "base/status.h"
#include "launch/system/file_descriptor.h"

namespace capstan {
namespace {

constexpr int kTrips = 101;

absl::Status SystemError(const char* what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

struct Pair {
  FileDescriptor near;
  FileDescriptor far;
};

// Neither end can block for long: the kernel completes the handshake by itself,
// and both ends are on this machine.
absl::Status Connect(Pair& pair) {
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (!listener.valid()) return SystemError("socket");
  if (bind(listener.get(), generic, size) != 0) {
    return SystemError("no free port: bind");
  }
  if (listen(listener.get(), 1) != 0) return SystemError("listen");
  if (getsockname(listener.get(), generic, &size) != 0) {
    return SystemError("getsockname");
  }
  pair.near = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!pair.near.valid()) return SystemError("socket");
  if (connect(pair.near.get(), generic, size) != 0) {
    return SystemError("connect");
  }
  pair.far =
      FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!pair.far.valid()) return SystemError("accept");
  const int one = 1;
  for (const int fd : {pair.near.get(), pair.far.get()}) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  }
  return absl::OkStatus();
}

absl::Status Measure(const Pair& pair, Duration& median) {
  const RealClock clock;
  std::vector<Duration> times;
  char byte = 'x';
  for (int i = 0; i < kTrips; ++i) {
    const MonotonicTime start = clock.Now();
    for (const auto& [from, to] :
         {std::pair(pair.near.get(), pair.far.get()),
          std::pair(pair.far.get(), pair.near.get())}) {
      if (send(from, &byte, 1, MSG_NOSIGNAL) != 1 ||
          recv(to, &byte, 1, 0) != 1) {
        return SystemError("exchange");
      }
    }
    times.push_back(clock.Now() - start);
  }
  std::nth_element(times.begin(), times.begin() + kTrips / 2, times.end());
  median = times[kTrips / 2];
  return absl::OkStatus();
}

absl::Status LookUp(const std::string& host) {
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (error != 0) return absl::NotFoundError(gai_strerror(error));
  freeaddrinfo(found);
  return absl::OkStatus();
}

}  // namespace

LoopbackFacts ProbeLoopback() {
  LoopbackFacts facts;
  Pair pair;
  facts.status = Connect(pair);
  if (facts.status.ok()) facts.status = Measure(pair, facts.round_trip);
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) == 0) facts.host = name.data();
  facts.host_status = LookUp(facts.host);
  return facts;
}

}  // namespace capstan
