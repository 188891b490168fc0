// Free ports of the loopback interface, kept from others until they are used.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "launch/system/file_descriptor.h"

namespace capstan {

// Ports that nobody listens on, each held by a socket that is bound to it, and
// not inherited by child processes, for as long as this lives. Who says
// SO_REUSEADDR, as Capstan's tasks do, can listen on them meanwhile, also again
// after a restart; the kernel gives them to nobody else. Move-only. Not
// thread-safe.
class HeldPorts {
 public:
  // Takes `count` ports of 127.0.0.1. ResourceExhausted if the system has no
  // more ports or descriptors.
  static absl::StatusOr<HeldPorts> Take(int count);

  // Lets the program that this process becomes by exec hold them, to its end.
  void KeepThroughExec();

  // In the order in which they were taken.
  const std::vector<int>& ports() const { return ports_; }

 private:
  HeldPorts() = default;

  std::vector<int> ports_;
  std::vector<FileDescriptor> sockets_;
};

}  // namespace capstan
