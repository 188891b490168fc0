#include "transport/tcp/peer_user.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace capstan {

absl::StatusOr<PeerUser> ReadPeerUser(int socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot see who the peer is: ", std::strerror(errno)));
  }
  // A connect that finds the listener's queue full appears to succeed, but has
  // no peer.
  if (peer.uid == static_cast<uid_t>(-1)) {
    return absl::UnavailableError("the peer accepts no connections for now");
  }
  return PeerUser{peer.uid, peer.pid};
}

absl::Status CheckPeerUser(const PeerUser& peer, uid_t self) {
  if (peer.user == self || peer.user == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "process ", peer.process, " belongs to user ", peer.user,
      ", and this one to user ", self,
      ": tasks on Unix sockets talk to their own user and root only"));
}

}  // namespace capstan
