#include "launch/local/held_ports.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file/open_files.h"

namespace capstan {
namespace {

absl::Status NoPort(const char* call) {
  const int error = errno;
  return absl::ResourceExhaustedError(
      absl::StrCat("no free port on 127.0.0.1: ", call, ": ", strerror(error),
                   OpenFilesRemedy(error)));
}

}  // namespace

absl::StatusOr<HeldPorts> HeldPorts::Take(int count) {
  HeldPorts held;
  for (int i = 0; i < count; ++i) {
    FileDescriptor holder(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!holder.valid()) return NoPort("socket");
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    // Two sockets may share a port if both set this option and only one
    // listens.
    const int yes = 1;
    if (setsockopt(holder.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) !=
        0) {
      return NoPort("setsockopt");
    }
    if (bind(holder.get(), generic, size) != 0) return NoPort("bind");
    if (getsockname(holder.get(), generic, &size) != 0) {
      return NoPort("getsockname");
    }
    const int port = ntohs(address.sin_port);
    held.ports_.push_back(port);
    held.sockets_.push_back(std::move(holder));
  }
  return held;
}

void HeldPorts::KeepThroughExec() {
  // Cannot fail for an open descriptor.
  for (const FileDescriptor& holder : sockets_) fcntl(holder.get(), F_SETFD, 0);
}

}  // namespace capstan
