// The client side of one connection: many concurrent calls over one stream.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "transport/call_state.h"
#include "transport/frame_reader.h"
#include "transport/frame_writer.h"
#include "transport/keepalive.h"
#include "transport/stream.h"
#include "wire/channel.h"
#include "wire/frame.h"

namespace capstan {

// A request as the caller gave it.
struct ClientRequest {
  Method method;
  std::string body;
  std::vector<Bytes> attachments;
  std::optional<std::vector<MutableBytes>> receive_into;
  uint64_t reply_limit;
  MonotonicTime deadline;  // unless bytes move before then
};

// Lives on its stream's executor. Its own coroutines keep it alive until it is
// closed.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  // The handshake must be done. `clock` must outlive the connection.
  ClientConnection(Clock& clock, const Executor& executor,
                   std::unique_ptr<Stream> stream,
                   std::unique_ptr<FrameReader> reader,
                   LivenessOptions liveness);

  // Starts reading and writing. Call once. Calls `on_end` once, when the
  // connection has ended.
  void Start(std::function<void()> on_end);
  // Replaces the `on_end` of Start; null for none.
  void OnEnd(std::function<void()> on_end) { on_end_ = std::move(on_end); }

  // Sends a request and waits for its answer or for `state` to be ended. Moves
  // the body and attachments out of `request`, which must outlive the call.
  // Once it returns, the memory of the request and of the answer is no longer
  // used.
  Task<absl::StatusOr<Reply>> Call(CallState& state, ClientRequest& request);

  // Ends the connection; outstanding calls end with `reason`.
  void Fail(absl::Status reason);

  // Tells the peer that no more calls will come, and ends the connection once
  // that message is written. Outstanding calls end with Cancelled.
  void SayGoodbye();

  // Whether new calls may use the connection: it has not ended, and neither
  // side is leaving.
  bool usable() const { return !ended_ && !leaving_; }
  bool ended() const { return ended_; }
  // Whether any answer has arrived.
  bool answered() const { return answered_; }
  // When bytes were last written or read.
  MonotonicTime last_moved() const {
    return std::max(writer_.last_written(), reader_->last_read());
  }
  // Whether either side has said goodbye.
  bool leaving() const { return leaving_; }

 private:
  struct Pending {
    CallState* state;
    const ClientRequest* request;
    std::shared_ptr<Destination> destination = std::make_shared<Destination>();
    Reply reply;
    absl::Status status;
    bool done = false;
  };
  // Attachments that arrive in pieces.
  struct Incoming {
    uint64_t request_id = 0;
    uint64_t offset = 0;
    uint64_t remaining = 0;      // 0: no attachments are due
    Pending* pending = nullptr;  // null: the call has ended; discard
  };

  static Task<> ReadLoop(std::shared_ptr<ClientConnection> self);
  static Task<> WriteLoop(std::shared_ptr<ClientConnection> self);
  static Task<> WatchLoop(std::shared_ptr<ClientConnection> self);

  absl::Status HandleControl(const FrameHeader& header);
  Task<absl::Status> HandleResponse(FrameHeader header);
  Task<absl::Status> HandleData(FrameHeader header);
  absl::Status HandleAbort(const FrameHeader& header);
  // Ends the outstanding calls.
  void EndCalls(const absl::Status& status);
  // Chooses the memory that receives the answer's attachments.
  absl::Status Place(Pending& pending, const FrameHeader& header,
                     const std::vector<uint64_t>& lengths);
  Task<absl::Status> ReadFor(Pending* pending, uint64_t offset, uint64_t bytes);
  void Complete(Pending* pending, absl::Status status);
  // After a call ended early: makes the reader let go of the call's memory.
  Task<> StopReceiving(Pending& pending);
  void SendCancel(uint64_t request_id);

  Clock& clock_;
  const Executor executor_;
  const std::unique_ptr<Stream> stream_;
  const std::unique_ptr<FrameReader> reader_;
  FrameWriter writer_;
  const LivenessOptions liveness_;
  const std::unique_ptr<Timer> timer_;
  std::function<void()> on_end_;

  std::unordered_map<uint64_t, Pending*> pending_;
  uint64_t last_id_ = 0;
  Incoming incoming_;
  CallState* completed_ = nullptr;  // the call that the last frame completed
  Pending* reading_ = nullptr;      // its memory is being read into
  bool ended_ = false;
  bool leaving_ = false;
  bool answered_ = false;
  bool said_goodbye_ = false;
  absl::Status reason_;
};

}  // namespace capstan
