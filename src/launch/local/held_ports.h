// Free loopback ports, reserved until they are used.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "launch/system/file_descriptor.h"

namespace capstan {

// Ports that nobody listens on. A socket bound to each holds it while this
// object lives; child processes do not inherit the socket. Meanwhile a program
// that sets SO_REUSEADDR, as Capstan's tasks do, can listen on the port, even
// again after a restart; the kernel gives it to nobody else. Move-only. Not
// thread-safe.
class HeldPorts {
 public:
  // Takes `count` ports of 127.0.0.1. ResourceExhausted if the system has no
  // more ports or descriptors.
  static absl::StatusOr<HeldPorts> Take(int count);

  // Keeps the ports held after this process execs another program, until that
  // program exits.
  void KeepThroughExec();

  // In the order they were taken.
  const std::vector<int>& ports() const { return ports_; }

 private:
  HeldPorts() = default;

  std::vector<int> ports_;
  std::vector<FileDescriptor> sockets_;
};

}  // namespace capstan
