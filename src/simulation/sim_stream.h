// One end of a simulated connection as a Stream.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/task.h"
#include "simulation/sim_connection.h"
#include "transport/stream.h"

namespace capstan {

class SimStream final : public Stream {
 public:
  SimStream(const Executor& executor, std::shared_ptr<SimConnection> connection,
            SimConnection::End end);
  ~SimStream() override;

  Task<absl::StatusOr<size_t>> ReadSome(
      std::span<const MutableBytes> into) override;
  Task<absl::StatusOr<size_t>> WriteSome(std::span<const Bytes> from) override;
  void Interrupt() override;
  void Close() override;
  std::string peer_address() const override;

 private:
  struct Operations;

  static Task<absl::StatusOr<size_t>> Read(std::shared_ptr<Operations> self,
                                           std::span<const MutableBytes> into);
  static Task<absl::StatusOr<size_t>> Write(std::shared_ptr<Operations> self,
                                            std::span<const Bytes> from);

  // Shared with pending operations, which may outlive the stream.
  const std::shared_ptr<Operations> operations_;
};

}  // namespace capstan
