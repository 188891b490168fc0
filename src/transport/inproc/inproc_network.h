// The network inside one process: streams through memory, between threads or
// on one. An address is "inproc:NAME"; listening on "inproc:" alone chooses a
// name that is not in use. Names belong to one InprocNetwork object.
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

  // Returns at once: with a stream if somebody listens, whose Accept may come
  // later; otherwise, or if too many wait to be accepted, with Unavailable.
  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override;

  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override;

 private:
  class Names;

  // Shared with the acceptors, which take their names out of it.
  const std::shared_ptr<Names> names_;
};

}  // namespace capstan
