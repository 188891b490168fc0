#include "bench_grpc/grpc_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/exchange.h"
#include "harness/memory.h"
#include "launch/system/child_process.h"
#include "tensor/buffer.h"

namespace capstan {
namespace {

// The buffers of the calls. Used by the polling thread only.
struct Memory {
  Buffer source;
  Buffer piece;
};

// Copies the bytes of a push into `piece`, as the other contenders do.
void Receive(const grpc::ByteBuffer& buffer, Buffer& piece) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return;
  size_t place = 0;
  for (const grpc::Slice& slice : slices) {
    for (size_t done = 0; done < slice.size();) {
      if (place == piece.size()) place = 0;
      const size_t count = std::min(slice.size() - done, piece.size() - place);
      std::memcpy(piece.data() + place, slice.begin() + done, count);
      place += count;
      done += count;
    }
  }
}

uint64_t SizeOf(const grpc::ByteBuffer& request) {
  grpc::Slice slice;
  uint64_t size = 0;
  if (request.DumpToSingleSlice(&slice).ok() && slice.size() == sizeof(size)) {
    std::memcpy(&size, slice.begin(), sizeof(size));
  }
  return std::min<uint64_t>(size, kLargestExchange);
}

// One call: 1. requested, 2. read, 3. answered, then it deletes itself.
class Call {
 public:
  Call(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue,
       Memory& memory)
      : service_(service), queue_(queue), memory_(memory) {
    service_.RequestCall(&context_, &stream_, &queue_, &queue_, this);
  }

  // Continues after the queue has returned this call.
  void Advance(bool ok) {
    if (!ok || state_ == State::kAnswered) {
      delete this;
      return;
    }
    if (state_ == State::kRequested) {
      new Call(service_, queue_, memory_);  // for the next one
      state_ = State::kRead;
      stream_.Read(&request_, this);
      return;
    }
    state_ = State::kAnswered;
    stream_.WriteAndFinish(Answer(), grpc::WriteOptions(), grpc::Status::OK,
                           this);
  }

 private:
  enum class State { kRequested, kRead, kAnswered };

  grpc::ByteBuffer Answer() {
    if (context_.method() == kGrpcEcho) return request_;
    if (context_.method() == kGrpcPull) {
      grpc::Slice slice(memory_.source.data(), SizeOf(request_),
                        grpc::Slice::STATIC_SLICE);
      return grpc::ByteBuffer(&slice, 1);
    }
    Receive(request_, memory_.piece);
    const uint64_t size = request_.Length();
    grpc::Slice slice(&size, sizeof(size));
    return grpc::ByteBuffer(&slice, 1);
  }

  grpc::AsyncGenericService& service_;
  grpc::ServerCompletionQueue& queue_;
  Memory& memory_;
  State state_ = State::kRequested;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::ByteBuffer request_;
};

}  // namespace

absl::Status ServeGrpc(const std::string& address) {
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterAsyncGenericService(&service);
  std::unique_ptr<grpc::ServerCompletionQueue> queue =
      builder.AddCompletionQueue();
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address));
  }
  absl::StatusOr<Buffer> source = TouchedMemory(kLargestExchange);
  if (!source.ok()) return source.status();
  absl::StatusOr<Buffer> piece = TouchedMemory(kPieceBytes);
  if (!piece.ok()) return piece.status();
  Memory memory = {*std::move(source), *std::move(piece)};
  new Call(service, *queue, memory);
  const bool is_unix = absl::StartsWith(address, "unix:");
  CAPSTAN_RETURN_IF_ERROR(
      ReportReady(is_unix ? address : absl::StrCat("127.0.0.1:", port)));
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Call*>(tag)->Advance(ok);
  return absl::UnavailableError("the completion queue has ended");
}

}  // namespace capstan
