// Free ports of the loopback interface, kept from others until they are used.
#pragma once

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "launch/file_descriptor.h"

namespace capstan {

// Ports that nobody listens on, each held by a socket that is bound to it and
// not inherited by child processes. All are taken before any is given back, so
// they differ. Move-only. Not thread-safe.
class HeldPorts {
 public:
  // Takes `count` ports of 127.0.0.1. ResourceExhausted if the system has no
  // more ports or descriptors.
  static absl::StatusOr<HeldPorts> Take(int count);

  // In the order in which they were taken.
  const std::vector<int>& ports() const { return ports_; }

  // Gives a port back, for a process that is to listen on it. From now on
  // another program may be faster. Does nothing if it is not held.
  void Release(int port) { sockets_.erase(port); }

 private:
  HeldPorts() = default;

  std::vector<int> ports_;
  std::map<int, FileDescriptor> sockets_;
};

}  // namespace capstan
