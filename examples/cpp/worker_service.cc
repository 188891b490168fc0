#include "worker_service.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/status.h"
#include "demo.h"
#include "wire/probe_service.h"

namespace capstan {
namespace {

constexpr int kRoundTrips = 2'000;
constexpr int kTransfers = 5;

ServerReply ReplyWith(absl::Status status) {
  ServerReply reply;
  reply.status = std::move(status);
  return reply;
}

class Stopwatch {
 public:
  double seconds() const {
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start_;
    return elapsed.count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace

WorkerService::WorkerService(int index, std::unique_ptr<Channel> server)
    : server_(std::move(server)),
      values_(Tensor::Zeros(DType::kF32, TensorShape())),
      update_(Tensor::Uninitialized(DType::kF32, TensorShape())),
      nothing_(Tensor::Zeros(DType::kF32, TensorShape())) {
  std::ranges::fill(update_.MutableValues<float>(), UpdateOf(index));
}

Task<ServerReply> WorkerService::Serve(ServerCall& call) {
  const Method method = call.method();
  if (method == kMeasure) return Measure();
  if (method == kTrain) return Train();
  if (method == kDigest) return Digest();
  return Refuse();
}

Task<> WorkerService::Close() {
  co_await server_->Close();
  server_ = nullptr;
}

Task<ServerReply> WorkerService::Measure() {
  // The first of each kind connects and is not counted.
  absl::Status status = co_await Echo();
  const Stopwatch echoes;
  for (int i = 0; i < kRoundTrips && status.ok(); ++i) {
    status = co_await Echo();
  }
  const double echo_seconds = echoes.seconds();
  if (status.ok()) status = co_await Pull();
  const Stopwatch pulls;
  for (int i = 0; i < kTransfers && status.ok(); ++i) {
    status = co_await Pull();
  }
  const double pull_seconds = pulls.seconds();
  const Stopwatch pushes;
  for (int i = 0; i < kTransfers && status.ok(); ++i) {
    status = co_await Push(nothing_);
  }
  const double push_seconds = pushes.seconds();
  if (!status.ok()) co_return ReplyWith(std::move(status));

  const double gigabytes =
      kTransfers * static_cast<double>(values_.view().bytes().size()) / 1e9;
  auto result = std::make_shared<Measurement>();
  result->round_trip_us = echo_seconds / kRoundTrips * 1e6;
  result->pull_gbps = gigabytes / pull_seconds;
  result->push_gbps = gigabytes / push_seconds;
  ServerReply reply;
  reply.attachments.push_back(std::as_bytes(std::span(result.get(), 1)));
  reply.owner = std::move(result);
  co_return reply;
}

Task<ServerReply> WorkerService::Train() {
  const float mine = update_.Values<float>()[0];
  for (int step = 0; step < kSteps; ++step) {
    absl::Status status = co_await Pull();
    if (!status.ok()) co_return ReplyWith(std::move(status));
    // The other worker's updates may be in it, but all of mine must be.
    const float added = AddedToAll(values_.Values<float>());
    if (added < mine * static_cast<float>(step)) {
      co_return ReplyWith(absl::DataLossError(
          "the tensor lacks an update, or has half of one"));
    }
    status = co_await Push(update_);
    if (!status.ok()) co_return ReplyWith(std::move(status));
  }
  co_return ReplyWith(absl::OkStatus());
}

Task<ServerReply> WorkerService::Digest() {
  absl::Status status = co_await Pull();
  ServerReply reply = ReplyWith(std::move(status));
  reply.body = EncodeProbeSize(Crc32c(values_.view().bytes()));
  co_return reply;
}

Task<ServerReply> WorkerService::Refuse() {
  co_return ReplyWith(absl::UnimplementedError("not a worker's task"));
}

Task<absl::Status> WorkerService::Echo() {
  std::vector<std::byte> from(4 << 10);
  std::vector<std::byte> into(4 << 10);
  std::string body;
  std::vector<Bytes> attachments(1, Bytes(from));
  CallOptions options;
  options.timeout = kServerTimeout;
  options.receive_into.emplace(1, MutableBytes(into));
  absl::StatusOr<Reply> reply =
      co_await server_->Call(Method::kProbeEcho, std::move(body),
                             std::move(attachments), std::move(options));
  co_return reply.status();
}

Task<absl::Status> WorkerService::Pull() {
  std::string body;
  std::vector<Bytes> attachments;
  CallOptions options;
  options.timeout = kServerTimeout;
  options.receive_into.emplace(1, values_.mutable_view().mutable_bytes());
  absl::StatusOr<Reply> reply = co_await server_->Call(
      kPullTensor, std::move(body), std::move(attachments), std::move(options));
  co_return reply.status();
}

Task<absl::Status> WorkerService::Push(const Tensor& update) {
  std::string body;
  std::vector<Bytes> attachments(1, update.view().bytes());
  CallOptions options;
  options.timeout = kServerTimeout;
  absl::StatusOr<Reply> reply = co_await server_->Call(
      kPushUpdate, std::move(body), std::move(attachments), std::move(options));
  co_return reply.status();
}

}  // namespace capstan
