#include "wire/probe_service.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace capstan {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

ServerReply ErrorReply(absl::Status status) {
  ServerReply reply;
  reply.status = std::move(status);
  return reply;
}

uint64_t Sum(std::span<const uint64_t> sizes) {
  uint64_t sum = 0;
  for (uint64_t size : sizes) sum += size;
  return sum;
}

}  // namespace

std::string EncodeProbeSize(uint64_t size) {
  std::string body;
  for (int shift = 0; shift < 64; shift += 8) {
    body.push_back(static_cast<char>(size >> shift & 0xff));
  }
  return body;
}

absl::StatusOr<uint64_t> DecodeProbeSize(std::string_view body) {
  if (body.size() != sizeof(uint64_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a probe's size has 8 bytes, not ", body.size()));
  }
  uint64_t size = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    size |= uint64_t{static_cast<uint8_t>(body[i])} << (8 * i);
  }
  return size;
}

// A piece of memory for one sink; returned by the destructor.
class ProbeService::Scratch {
 public:
  explicit Scratch(ProbeService& service) : service_(service) {
    std::lock_guard lock(service_.mutex_);
    if (service_.scratch_.empty()) return;
    buffer_ = std::move(service_.scratch_.back());
    service_.scratch_.pop_back();
  }
  ~Scratch() {
    if (buffer_.size() == 0) return;
    std::lock_guard lock(service_.mutex_);
    service_.scratch_.push_back(std::move(buffer_));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  absl::StatusOr<MutableBytes> Get() {
    if (buffer_.size() == 0) {
      absl::StatusOr<Buffer> fresh = Buffer::Allocate(kPieceBytes, Fill::kNone);
      if (!fresh.ok()) return fresh.status();
      buffer_ = *std::move(fresh);
    }
    return buffer_.mutable_bytes();
  }

 private:
  ProbeService& service_;
  Buffer buffer_;
};

Task<ServerReply> ProbeService::Serve(ServerCall& call) {
  switch (call.method()) {
    case Method::kProbeEcho:
      return Echo(call);
    case Method::kProbeSink:
      return Sink(call);
    case Method::kProbeSource:
      return Send(call);
    default:
      return Refuse(call);
  }
}

Task<ServerReply> ProbeService::Refuse(ServerCall& call) {
  co_return ErrorReply(absl::UnimplementedError(absl::StrCat(
      "method ", static_cast<int>(call.method()), " is not served here")));
}

Task<ServerReply> ProbeService::Echo(ServerCall& call) {
  absl::StatusOr<Buffer> received = co_await call.ReceiveAll();
  if (!received.ok()) co_return ErrorReply(received.status());
  auto memory = std::make_shared<const Buffer>(*std::move(received));
  ServerReply reply;
  reply.body = std::string(call.body());
  Bytes rest = memory->bytes();
  for (uint64_t size : call.attachment_sizes()) {
    reply.attachments.push_back(rest.first(size));
    rest = rest.subspan(size);
  }
  reply.owner = std::move(memory);
  co_return reply;
}

Task<ServerReply> ProbeService::Sink(ServerCall& call) {
  const uint64_t total = Sum(call.attachment_sizes());
  Scratch scratch(*this);
  absl::StatusOr<MutableBytes> memory = scratch.Get();
  if (!memory.ok()) co_return ErrorReply(memory.status());
  for (uint64_t left = total; left > 0;) {
    const MutableBytes piece =
        memory->first(std::min<uint64_t>(left, memory->size()));
    absl::Status received = co_await call.Receive(piece);
    if (!received.ok()) co_return ErrorReply(std::move(received));
    left -= piece.size();
  }
  ServerReply reply;
  reply.body = EncodeProbeSize(total);
  co_return reply;
}

Task<ServerReply> ProbeService::Send(ServerCall& call) {
  absl::StatusOr<uint64_t> size = DecodeProbeSize(call.body());
  if (!size.ok()) co_return ErrorReply(size.status());
  absl::StatusOr<Source> source = SourceOf(*size);
  if (!source.ok()) co_return ErrorReply(source.status());
  ServerReply reply;
  reply.attachments.push_back((*source)->bytes().first(*size));
  reply.owner = *std::move(source);
  co_return reply;
}

absl::StatusOr<ProbeService::Source> ProbeService::SourceOf(uint64_t size) {
  if (size > largest_source_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a probe may ask for ", largest_source_, " bytes, not ", size));
  }
  std::lock_guard lock(mutex_);
  if (source_ != nullptr && source_->size() >= size) return source_;
  absl::StatusOr<Buffer> memory = Buffer::Allocate(size, Fill::kNone);
  if (!memory.ok()) return memory.status();
  for (uint64_t i = 0; i < size; ++i) memory->data()[i] = ProbeByte(i);
  source_ = std::make_shared<const Buffer>(*std::move(memory));
  return source_;
}

}  // namespace capstan
