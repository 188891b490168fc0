// How a task answers calls. server/, worker/ and coordinator/ implement
// Service; the transports call it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/bytes.h"
#include "tensor/buffer.h"
#include "wire/hello.h"
#include "wire/method.h"

namespace capstan {

// One request while it is being served. Lives on the executor of its
// connection.
class ServerCall {
 public:
  virtual ~ServerCall() = default;

  virtual Method method() const = 0;
  virtual std::string_view body() const = 0;
  // Who asks, as stated in its handshake.
  virtual const Hello& peer() const = 0;
  // When the caller stops waiting, by this machine's clock. Extended while
  // attachments arrive.
  virtual MonotonicTime deadline() const = 0;
  // The most bytes of attachments that the answer may have.
  virtual uint64_t reply_limit() const = 0;

  // True once the caller has cancelled, disconnected or stopped waiting.
  virtual bool cancelled() const = 0;
  // Calls `listener` when that happens (at once if it already has). At most one
  // listener.
  virtual void OnCancel(std::function<void()> listener) = 0;

  // The sizes of the request's attachments. Their bytes may still be on their
  // way: they are read from the connection as Receive asks for them, so a
  // service can work on the first while the last have not arrived. While large
  // attachments (over 64 KiB in total) are unread, the peer's other large
  // transfers wait: meanwhile a service must not wait for another request.
  virtual std::span<const uint64_t> attachment_sizes() const = 0;

  // Receives the next into.size() bytes of the concatenated attachments. Fails
  // with Cancelled or Unavailable if they will not come, and with OutOfRange if
  // fewer are left. What is not received when Serve returns is discarded.
  virtual Task<absl::Status> Receive(MutableBytes into) = 0;

  // Receives everything that is left into memory that counts against the
  // server's budget of bytes in flight until the call ends; waits while the
  // budget is used up. ResourceExhausted if it can never fit.
  virtual Task<absl::StatusOr<Buffer>> ReceiveAll() = 0;
};

struct ServerReply {
  // If not OK, body and attachments are not sent.
  absl::Status status;
  std::string body;
  // Sent from where they are. The memory must not change until `owner` is
  // released, which happens when everything has been sent or the connection is
  // lost.
  std::vector<Bytes> attachments;
  std::shared_ptr<const void> owner;
};

class Service {
 public:
  virtual ~Service() = default;
  // Serves one call. Many are in flight at once, on the executors of their
  // connections. The service must outlive the server that calls it.
  virtual Task<ServerReply> Serve(ServerCall& call) = 0;
  // A connection over which `peer` could call has ended: the peer closed it,
  // died or did not answer. Called on the connection's executor, once for each
  // lane of a channel.
  virtual void OnDisconnect(const Hello& /*peer*/) {}
};

}  // namespace capstan
