#include "testing/test_client.h"

#include <asio/post.hpp>
#include <utility>

namespace capstan::testing {

absl::StatusOr<Reply> StartedCall::Get() {
  world_->MustRunUntil([this] { return done(); });
  return std::move(state_->result);
}

void StartedCall::Cancel() {
  asio::post(executor_, [state = state_] { state->cancellation.Cancel(); });
}

TestClient::TestClient(TransportWorld& world, Logger& logger,
                       ChannelOptions options, uint64_t seed)
    : world_(world), executor_(world.executor(Side::kClient)) {
  channel_ = world_.RunFunction(executor_, [&] {
    return NewPeerChannel(world_.clock(Side::kClient),
                          world_.network(Side::kClient), logger, Random(seed),
                          executor_, options);
  });
}

TestClient::~TestClient() {
  if (channel_ == nullptr) return;
  Close();
  Destroy();
}

StartedCall TestClient::Start(CallRequest request) {
  StartedCall call(world_, executor_);
  if (request.cancelled_before) call.state_->cancellation.Cancel();
  call.state_->on_return = std::move(request.on_return);
  request.options.cancellation = &call.state_->cancellation;
  Spawn(executor_, Run(*channel_, std::move(request), call.state_));
  return call;
}

Task<> TestClient::Run(Channel& channel, CallRequest request,
                       std::shared_ptr<StartedCall::State> state) {
  state->result = co_await channel.Call(request.method, std::move(request.body),
                                        std::move(request.attachments),
                                        std::move(request.options));
  if (state->on_return) state->on_return();
  state->done = true;
}

absl::StatusOr<Reply> TestClient::Call(Method method, std::string body,
                                       std::vector<Bytes> attachments,
                                       CallOptions options) {
  CallRequest request;
  request.method = method;
  request.body = std::move(body);
  request.attachments = std::move(attachments);
  request.options = std::move(options);
  return Call(std::move(request));
}

void TestClient::Close() { world_.Run(executor_, channel_->Close()); }

void TestClient::Destroy() {
  world_.RunFunction(executor_, [this] { channel_ = nullptr; });
}

std::string TestClient::peer() {
  return world_.RunFunction(executor_, [this] { return channel_->peer(); });
}

}  // namespace capstan::testing
