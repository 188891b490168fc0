// The network inside one process: streams through memory, between threads or on
// one. An address is "inproc:NAME"; listening on just "inproc:" chooses an
// unused name. Names belong to one InprocNetwork object.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "transport/stream.h"

namespace capstan {

// Thread-safe. Streams and acceptors may outlive the network.
class InprocNetwork final : public Network {
 public:
  InprocNetwork();
  ~InprocNetwork() override;

  // Returns at once: a stream if there is a listener, even if it has yet to
  // call Accept; Unavailable if there is none or too many connections are
  // waiting for it.
  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override;

  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override;

 private:
  class Names;

  // Shared with the acceptors, which remove their names from it.
  const std::shared_ptr<Names> names_;
};

}  // namespace capstan
