// Answers the probe methods, with which one task measures its link to another:
// bench_wire, the examples and `capstan doctor` use them.
//
//   kProbeEcho    answers with the request's body and attachments.
//   kProbeSink    receives the attachments in pieces of at most 1 MiB into
//                 scratch memory, and answers with their total size.
//   kProbeSource  answers with one attachment of the requested size, whose byte
//                 i is ProbeByte(i).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tensor/buffer.h"
#include "wire/service.h"

namespace capstan {

// A size as the body of a probe: of a kProbeSource request, or a kProbeSink
// answer. InvalidArgument if `body` is not a size.
std::string EncodeProbeSize(uint64_t size);
absl::StatusOr<uint64_t> DecodeProbeSize(std::string_view body);

inline std::byte ProbeByte(uint64_t index) {
  return static_cast<std::byte>(index % 251);
}

// Thread-safe.
class ProbeService final : public Service {
 public:
  // kProbeSource answers with at most `largest_source` bytes, which are kept in
  // memory from the first request for them.
  explicit ProbeService(uint64_t largest_source = uint64_t{64} << 20)
      : largest_source_(largest_source) {}

  // Unimplemented for any other method.
  Task<ServerReply> Serve(ServerCall& call) override;

 private:
  class Scratch;
  using Source = std::shared_ptr<const Buffer>;

  Task<ServerReply> Refuse(ServerCall& call);
  Task<ServerReply> Echo(ServerCall& call);
  Task<ServerReply> Sink(ServerCall& call);
  Task<ServerReply> Send(ServerCall& call);
  absl::StatusOr<Source> SourceOf(uint64_t size);

  const uint64_t largest_source_;
  // Guards everything below.
  std::mutex mutex_;
  // At least as large as any answer so far.
  Source source_;
  // Pieces that no sink is using.
  std::vector<Buffer> scratch_;
};

}  // namespace capstan
