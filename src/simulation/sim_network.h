// The simulated network as one node sees it: Streams and Acceptors in memory,
// over a SimFabric. Addresses have the form "sim:<node>:<port>".
#pragma once

#include <memory>
#include <string>

#include "simulation/sim_fabric.h"
#include "transport/stream.h"

namespace capstan {

// Used from the simulation's thread only. Streams deliver bytes in pieces of
// any size, down to one byte at a time, and a write may find no room.
class SimNetwork final : public Network {
 public:
  // `fabric` must outlive the network, which must outlive everything it
  // creates.
  SimNetwork(SimFabric& fabric, uint32_t node) : fabric_(fabric), node_(node) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override;
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override;

 private:
  SimFabric& fabric_;
  const uint32_t node_;
};

}  // namespace capstan
