// The server side of one connection: reads requests, has many served at once,
// and writes the answers as they become ready.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/async/waiter.h"
#include "transport/byte_budget.h"
#include "transport/deadline_queue.h"
#include "transport/frame_reader.h"
#include "transport/frame_writer.h"
#include "transport/server_call.h"
#include "transport/stream.h"
#include "wire/frame.h"
#include "wire/service.h"

namespace capstan {

class ServerCore;

// Lives on its stream's executor; only executor() may be called from others.
// Its own coroutines keep it alive until it has ended and the last of its
// requests has been served.
class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(std::shared_ptr<ServerCore> core, const Executor& executor,
                   std::unique_ptr<Stream> stream);

  // Runs the connection from the handshake to its end. If `refusal` is not OK,
  // sends that to the peer instead.
  static Task<> Run(std::shared_ptr<ServerConnection> self,
                    absl::Status refusal);

  // Ends the connection and cancels its outstanding requests.
  void Fail(absl::Status reason);

  // Tells the peer that the server is leaving and refuses further requests.
  // Ends the connection once the outstanding ones are served.
  void Leave();

  // Closes the stream if the server is leaving, every request is served and no
  // bulk lane depends on this one. Call whenever that may have become true.
  void LeaveIfDone();

  // For calls of this connection:
  ServerCore& core() { return *core_; }
  FrameReader& reader() { return reader_; }
  // The budget for bytes held by ServerCall::ReceiveAll.
  ByteBudget& bodies() { return bodies_; }
  const Hello& peer() const { return peer_; }
  const Executor& executor() const { return executor_; }
  void PieceDone() { piece_waiter_.Wake(); }
  // Cancels `call` when its deadline passes.
  void WatchDeadline(ConnectionCall& call);

  // The peer by name and address, for messages.
  std::string description() const;

 private:
  Task<absl::Status> Handshake(absl::Status refusal);
  Task<absl::Status> ReadRequests();
  static Task<> WriteLoop(std::shared_ptr<ServerConnection> self);
  static Task<> WatchLoop(std::shared_ptr<ServerConnection> self);
  static Task<> ServeCall(std::shared_ptr<ServerConnection> self,
                          std::shared_ptr<ConnectionCall> call);

  absl::Status HandleControl(const FrameHeader& header);
  Task<absl::Status> HandleRequest(FrameHeader header);
  Task<absl::Status> HandleData(FrameHeader header);
  absl::Status HandleAbort(const FrameHeader& header);
  void HandleCancel(const FrameHeader& header);
  // Takes the memory for a request's head if that is possible without waiting.
  std::optional<HeldBytes> TryAdmit(const FrameHeader& header);
  bool HasRoom(uint64_t bytes) const;
  // Waits until the request's head may be held in memory and served.
  Task<absl::StatusOr<HeldBytes>> Admit(const FrameHeader& header);
  void Reply(const ConnectionCall& call, ServerReply reply);
  void SendResponse(uint64_t request_id, ServerReply reply);

  const std::shared_ptr<ServerCore> core_;
  const Executor executor_;
  const std::unique_ptr<Stream> stream_;
  FrameReader reader_;
  FrameWriter writer_;
  DeadlineQueue deadlines_;
  const std::unique_ptr<Timer> timer_;  // of the liveness watch
  Hello peer_;
  bool greeted_ = false;

  ByteBudget bodies_;  // outlives calls_, which hold its bytes
  std::map<uint64_t, std::shared_ptr<ConnectionCall>> calls_;
  // The request whose attachments are arriving in pieces, or null.
  std::shared_ptr<ConnectionCall> incoming_;
  Waiter piece_waiter_;  // the reader waits here for Receive to read a piece
  Waiter slot_waiter_;   // the reader waits here for room for a request
  uint64_t held_ = 0;    // bytes of heads and inline attachments
  bool ended_ = false;
  bool leaving_ = false;
  bool stalled_ = false;
  absl::Status reason_;
};

}  // namespace capstan
