// Who is at the other end of a Unix socket, as the kernel knows it.
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

// Of a connected socket: who has connected to it or, on the side that has
// connected, who listened. Unavailable if it is not connected.
absl::StatusOr<PeerUser> ReadPeerUser(int socket);

// Whether a process of `self` may talk to `peer`: PermissionDenied, naming
// both, unless it is the same user or root, from whom nothing on this machine
// is safe. Root itself trusts root alone.
absl::Status CheckPeerUser(const PeerUser& peer, uid_t self);

}  // namespace capstan
