// Who is at the other end of a Unix socket, according to the kernel.
// Thread-safe.
#pragma once

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan {

struct PeerUser {
  uid_t user = 0;
  pid_t process = 0;
};

// The peer of a connected socket: who connected to it or, on the side that
// connected, who listened. Unavailable if it is not connected.
absl::StatusOr<PeerUser> ReadPeerUser(int socket);

// Checks that a process of user `self` may talk to `peer`: PermissionDenied,
// naming both, unless `peer` is the same user or root, which has access to
// everything on this machine anyway. Root itself trusts only root.
absl::Status CheckPeerUser(const PeerUser& peer, uid_t self);

}  // namespace capstan
