// One end of an in-process connection as a Stream.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/task.h"
#include "transport/inproc/inproc_connection.h"
#include "transport/stream.h"

namespace capstan {

class InprocStream final : public Stream {
 public:
  InprocStream(const Executor& executor,
               std::shared_ptr<InprocConnection> connection,
               InprocConnection::Side side, std::string peer_address);
  ~InprocStream() override;

  Task<absl::StatusOr<size_t>> ReadSome(
      std::span<const MutableBytes> into) override;
  Task<absl::StatusOr<size_t>> WriteSome(std::span<const Bytes> from) override;
  void Interrupt() override;
  void Close() override;
  std::string peer_address() const override { return peer_address_; }

 private:
  class End;
  class ReadGuard;
  class WriteGuard;

  static Task<absl::StatusOr<size_t>> Read(std::shared_ptr<End> end,
                                           std::span<const MutableBytes> into);
  static Task<absl::StatusOr<size_t>> Write(std::shared_ptr<End> end,
                                            std::span<const Bytes> from);

  // Shared with outstanding operations, which may outlive the stream.
  const std::shared_ptr<End> end_;
  const std::string peer_address_;
};

}  // namespace capstan
