#include "simulate/closures/faulty_closures.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulate/bent_call.h"
#include "simulate/closures/closure_call.h"
#include "wire/closure.h"
#include "wire/parameter.h"

namespace capstan::simulate {

struct RetryMemory {
  std::set<uint64_t> sent;  // steps
  uint64_t retries = 0;
};

std::shared_ptr<RetryMemory> NewRetryMemory() {
  return std::make_shared<RetryMemory>();
}

namespace {

// How far the planted watermark is ahead.
constexpr uint64_t kWatermarkAhead = 2;
constexpr double kBadClosures = 0.05;

ClosureCall CallOf(const RunRequest& request) {
  EncodedValue value;
  value.bytes = request.arguments;
  return DecodeCall(value);
}

// Changes the contents of requests before they are sent.
class BendingChannel final : public Channel {
 public:
  BendingChannel(std::unique_ptr<Channel> inner, Plant plant,
                 std::shared_ptr<RetryMemory> memory)
      : inner_(std::move(inner)), plant_(plant), memory_(std::move(memory)) {}

  Task<absl::StatusOr<Reply>> Call(Method method, std::string body,
                                   std::vector<Bytes> attachments,
                                   CallOptions options) override {
    if (plant_ == Plant::kRetryNewStep && method == Method::kWorkerRun) {
      body = BendRun(body);
    }
    if (method == Method::kWatermark) body = BendWatermark(body);
    if (Swallows(method)) return Done();
    installed_ |= method == Method::kInstall;
    return inner_->Call(method, std::move(body), std::move(attachments),
                        std::move(options));
  }

  Task<> Close() override { return inner_->Close(); }
  std::string peer() const override { return inner_->peer(); }

 private:
  static Task<absl::StatusOr<Reply>> Done() { co_return Reply(); }

  // Whether the request is answered without being sent.
  bool Swallows(Method method) const {
    // Before it installs a map, a coordinator only takes over.
    return plant_ == Plant::kUnsettled && method == Method::kCommit &&
           !installed_;
  }

  std::string BendWatermark(const std::string& body) {
    WatermarkRequest request = DecodeWatermarkRequest(body).value();
    if (plant_ == Plant::kEarlyWatermark) request.watermark += kWatermarkAhead;
    // The first watermark is that of a block, sent before its steps start.
    if (plant_ == Plant::kLostRecord && request.watermark > 0) {
      request.record.clear();
    }
    return EncodeWatermarkRequest(request);
  }

  std::string BendRun(const std::string& body) {
    RunRequest request = DecodeRunRequest(body).value();
    if (!memory_->sent.insert(request.id.step).second) {
      request.id.step = kForeignSteps + ++memory_->retries;
    }
    return EncodeRunRequest(request);
  }

  const std::unique_ptr<Channel> inner_;
  const Plant plant_;
  const std::shared_ptr<RetryMemory> memory_;
  bool installed_ = false;  // a shard map, in this life
};

class FaultyWorker final : public Service {
 public:
  FaultyWorker(Service& inner, Plant plant, SimNode& node)
      : inner_(inner), plant_(plant), random_(node.NewRandom("plant")) {}

  Task<ServerReply> Serve(ServerCall& call) override {
    if (call.method() == Method::kWorkerAttach) {
      const uint64_t session = DecodeAttachRequest(call.body()).value().session;
      ServerReply reply = co_await inner_.Serve(call);
      if (reply.status.ok()) session_ = session;
      co_return reply;
    }
    if (call.method() != Method::kWorkerRun)
      co_return co_await inner_.Serve(call);
    RunRequest request = DecodeRunRequest(call.body()).value();
    const bool bad = random_.Chance(kBadClosures);
    if (plant_ == Plant::kLostClosure && bad && request.session == session_) {
      co_return DoneReply(request);
    }
    if (plant_ == Plant::kStaleSession && session_ != 0) {
      request.session = session_;
    }
    std::string body = EncodeRunRequest(request);
    BentCall bent(call, std::move(body));
    ServerReply reply = co_await inner_.Serve(bent);
    if (plant_ == Plant::kResultSwap) SwapResult(reply);
    co_return reply;
  }

 private:
  // The reply of a closure that has run.
  static ServerReply DoneReply(const RunRequest& request) {
    RunReply done;
    EncodedValue value = ResultOf(CallOf(request));
    if (request.want_value) done.value = value.bytes;
    ServerReply reply;
    reply.body = EncodeRunReply(done);
    if (request.want_value && !value.tensors.empty()) {
      auto owner = std::make_shared<const EncodedValue>(std::move(value));
      for (const Tensor& tensor : owner->tensors) {
        reply.attachments.push_back(tensor.view().bytes());
      }
      reply.owner = std::move(owner);
    }
    return reply;
  }

  // Gives each result to the closure that ends next.
  void SwapResult(ServerReply& reply) {
    if (!reply.status.ok() || !reply.attachments.empty()) return;
    RunReply end = DecodeRunReply(reply.body).value();
    if (end.end != RunEnd::kDone || end.value.empty()) return;
    if (!last_) last_ = end.value;
    std::swap(*last_, end.value);
    reply.body = EncodeRunReply(end);
  }

  Service& inner_;
  const Plant plant_;
  Random random_;
  uint64_t session_ = 0;
  std::optional<std::string> last_;
};

}  // namespace

std::unique_ptr<Channel> NewFaultyWorkerChannel(
    std::unique_ptr<Channel> inner, Plant plant,
    std::shared_ptr<RetryMemory> memory) {
  if (plant != Plant::kRetryNewStep) return inner;
  return std::make_unique<BendingChannel>(std::move(inner), plant,
                                          std::move(memory));
}

std::unique_ptr<Channel> NewFaultyServerChannel(std::unique_ptr<Channel> inner,
                                                Plant plant) {
  switch (plant) {
    case Plant::kEarlyWatermark:
    case Plant::kLostRecord:
    case Plant::kUnsettled:
      return std::make_unique<BendingChannel>(std::move(inner), plant, nullptr);
    default:
      return inner;
  }
}

std::unique_ptr<Service> NewFaultyWorker(Service& worker, Plant plant,
                                         SimNode& node) {
  switch (plant) {
    case Plant::kLostClosure:
    case Plant::kStaleSession:
    case Plant::kResultSwap:
      return std::make_unique<FaultyWorker>(worker, plant, node);
    default:
      return nullptr;
  }
}

}  // namespace capstan::simulate
