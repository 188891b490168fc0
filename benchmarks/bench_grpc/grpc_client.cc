#include "bench_grpc/grpc_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bench_grpc/grpc_server.h"
#include "harness/memory.h"
#include "tensor/buffer.h"

namespace capstan {
namespace {

class GrpcClient final : public Contender {
 public:
  GrpcClient(std::shared_ptr<grpc::Channel> channel, Buffer source,
             Buffer destination)
      : stub_(std::move(channel)),
        source_(std::move(source)),
        destination_(std::move(destination)) {}

  ~GrpcClient() override {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  absl::StatusOr<double> Run(const Exchange& exchange) override {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < exchange.count; ++i) {
      CAPSTAN_RETURN_IF_ERROR(RunOne(exchange));
    }
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    return elapsed.count() / exchange.count;
  }

 private:
  absl::Status RunOne(const Exchange& exchange) {
    switch (exchange.kind) {
      case ExchangeKind::kRoundTrip:
        return Call(kGrpcEcho, Source(exchange.bytes), exchange.bytes);
      case ExchangeKind::kPull: {
        grpc::Slice size(&exchange.bytes, sizeof(exchange.bytes));
        return Call(kGrpcPull, size, exchange.bytes);
      }
      case ExchangeKind::kPush:
        return Call(kGrpcPush, Source(exchange.bytes), sizeof(uint64_t));
    }
    return absl::InternalError("no such kind");
  }

  grpc::Slice Source(size_t bytes) {
    return grpc::Slice(source_.data(), bytes, grpc::Slice::STATIC_SLICE);
  }

  absl::Status Call(const char* method, const grpc::Slice& slice,
                    size_t reply_bytes) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    const grpc::ByteBuffer request(&slice, 1);
    auto call = stub_.PrepareUnaryCall(&context, method, request, &queue_);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    call->Finish(&reply, &status, this);
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    if (!status.ok()) {
      return absl::UnavailableError(
          absl::StrCat("gRPC: ", status.error_message()));
    }
    return Copy(reply, reply_bytes);
  }

  // Copies the reply to its destination.
  absl::Status Copy(const grpc::ByteBuffer& reply, size_t expected) {
    std::vector<grpc::Slice> slices;
    if (reply.Length() != expected || !reply.Dump(&slices).ok()) {
      return absl::InternalError(absl::StrCat(
          "gRPC: a reply of ", reply.Length(), " bytes, not ", expected));
    }
    size_t place = 0;
    for (const grpc::Slice& slice : slices) {
      std::memcpy(destination_.data() + place, slice.begin(), slice.size());
      place += slice.size();
    }
    return absl::OkStatus();
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  Buffer source_;
  Buffer destination_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Contender>> ConnectGrpc(
    const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  std::shared_ptr<grpc::Channel> channel = grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() +
                                 std::chrono::seconds(10))) {
    return absl::UnavailableError(
        absl::StrCat("gRPC: cannot connect to ", address));
  }
  absl::StatusOr<Buffer> source = TouchedMemory(kLargestExchange);
  if (!source.ok()) return source.status();
  absl::StatusOr<Buffer> destination = TouchedMemory(kLargestExchange);
  if (!destination.ok()) return destination.status();
  return std::make_unique<GrpcClient>(std::move(channel), *std::move(source),
                                      *std::move(destination));
}

}  // namespace capstan
