// A Channel driven from plain test code: blocking calls, calls that continue in
// the background, and what happened to them. Test-only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "testing/transport_world.h"
#include "transport/peer_channel.h"
#include "wire/channel.h"

namespace capstan::testing {

// A call that has been started. Copies refer to the same call.
class StartedCall {
 public:
  // True once Channel::Call has returned.
  bool done() const { return state_->done; }

  // Waits for the call to end and takes the result. Call once.
  absl::StatusOr<Reply> Get();

  // Requests cancellation; does not wait for it.
  void Cancel();

 private:
  friend class TestClient;
  // Shared with the coroutine that awaits the call.
  struct State {
    Cancellation cancellation;
    std::function<void()> on_return;
    absl::StatusOr<Reply> result;
    std::atomic<bool> done = false;
  };

  StartedCall(TransportWorld& world, const Executor& executor)
      : world_(&world),
        executor_(executor),
        state_(std::make_shared<State>()) {}

  TransportWorld* world_;
  Executor executor_;
  std::shared_ptr<State> state_;
};

struct CallRequest {
  Method method{};
  std::string body = {};
  std::vector<Bytes> attachments = {};
  CallOptions options = {};
  // Called on the channel's executor as soon as Call has returned.
  std::function<void()> on_return = {};
  // If set, the call is cancelled before it begins.
  bool cancelled_before = false;
};

// Used from the main thread. Lives on the client's executor.
class TestClient {
 public:
  TestClient(TransportWorld& world, Logger& logger, ChannelOptions options,
             uint64_t seed = 1);
  // Closes the channel.
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  // Starts a call. The attachments' memory must last until it is done.
  StartedCall Start(CallRequest request);

  // Calls and waits for the result.
  absl::StatusOr<Reply> Call(CallRequest request) {
    return Start(std::move(request)).Get();
  }
  absl::StatusOr<Reply> Call(Method method, std::string body,
                             std::vector<Bytes> attachments = {},
                             CallOptions options = {});

  // Channel::Close.
  void Close();
  // Destroys the channel without Close, with any calls still in flight.
  void Destroy();
  std::string peer();

 private:
  static Task<> Run(Channel& channel, CallRequest request,
                    std::shared_ptr<StartedCall::State> state);

  TransportWorld& world_;
  const Executor executor_;
  std::unique_ptr<Channel> channel_;
};

}  // namespace capstan::testing
