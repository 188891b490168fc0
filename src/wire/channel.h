// How one task calls another. A Channel stands for the connections to one peer
// and hides which transport carries them and how they are re-established;
// client/ and coordinator/ see only this interface, and launch/ provides the
// implementation.
//
// A Channel lives on one executor and is used from it alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/cancellation.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/bytes.h"
#include "tensor/buffer.h"
#include "wire/method.h"

namespace capstan {

struct CallOptions {
  // The call fails with DeadlineExceeded after this much time without progress:
  // no answer and, if the request has large attachments or the answer may have
  // some, not one byte moved to or from the peer on the lane that carries them.
  Duration timeout = std::chrono::seconds(30);
  // The same after this much time in total, even if bytes still move.
  Duration limit = Duration::max();
  // Where to receive the attachments of the answer, one view each, without an
  // intermediate copy. The answer must have exactly as many attachments, none
  // larger than its view. The memory is not touched after Call has returned.
  std::optional<std::vector<MutableBytes>> receive_into;
  // Without receive_into: the most bytes of attachments to accept; the Reply
  // owns their memory.
  uint64_t reply_limit = 64 << 10;
  // Ends the call with Cancelled. May be null.
  Cancellation* cancellation = nullptr;
};

struct Reply {
  std::string body;
  // Views of the attachments as received, in `storage` or where the caller
  // asked for them.
  std::vector<MutableBytes> attachments;
  Buffer storage;
};

class Channel {
 public:
  virtual ~Channel() = default;

  // Sends a request and waits for its answer. `attachments` are views of the
  // caller's memory, sent from there and not used after Call returns. Many
  // calls may be in flight at once; answers come in any order.
  //
  // Errors: what the service answered; DeadlineExceeded, Cancelled; Unavailable
  // if the peer could not be reached, was lost, or did not answer keepalives
  // (the request may or may not have been served); FailedPrecondition if the
  // peer refused the handshake; ResourceExhausted if the answer is larger than
  // allowed; InvalidArgument if it does not fit `receive_into`. All name the
  // peer as the task concerned.
  virtual Task<absl::StatusOr<Reply>> Call(Method method, std::string body,
                                           std::vector<Bytes> attachments,
                                           CallOptions options) = 0;

  // Ends the calls in flight with Cancelled and closes the connections in an
  // orderly way, so that the peer sees a goodbye and not a failure.
  virtual Task<> Close() = 0;

  // The peer's name for messages, such as "ps/1 at 127.0.0.1:7000".
  virtual std::string peer() const = 0;
};

}  // namespace capstan
