// Sends a request to each of some servers and waits for all the answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/async/backoff.h"
#include "base/async/cancellation.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/random.h"
#include "base/status.h"
#include "wire/channel.h"

namespace capstan {

// One request to one server. The memory that it names belongs to the caller of
// FanOut.
struct ServerRequest {
  uint32_t server = 0;
  Method method = Method::kPull;
  std::string body;
  std::vector<Bytes> attachments;
  std::optional<std::vector<MutableBytes>> receive_into;
  uint64_t reply_limit = 64 << 10;

  // What came of it.
  absl::Status status;
  Reply reply;
};

// What is the same for all that a client asks. `channels` has one for each
// server; they, and all else, outlive the calls and live on `executor`.
struct ServerChannels {
  Clock& clock;
  Executor executor;
  std::vector<std::unique_ptr<Channel>> channels;
  Random random;
  BackoffOptions backoff;
};

// How long requests may take.
struct TimeLimits {
  // An request without progress, as CallOptions::timeout has it.
  Duration timeout = std::chrono::seconds(30);
  // All of them, whatever moves.
  MonotonicTime deadline = kNever;
};

// Runs the requests at once. One that fails with Unavailable is sent again,
// unchanged: all that a server is asked may be asked twice. It is given up when
// it has kept failing for `limits.timeout`; an attempt that lasted longer than
// that has moved bytes, and the time starts again.
// OK if all are; else the error that says most: Cancelled before any other, and
// any before Aborted, which says that the shard map is old. What is in the
// requests is valid in either case.
//
// After `cancellation`, which may be null, nothing more is sent and the result
// is Cancelled, whatever has been answered. It names a server that was waited
// for, if there was one. The requests are over then as at any other end: their
// memory is not touched any more.
Task<absl::Status> FanOut(ServerChannels& servers,
                          std::span<ServerRequest> server_requests,
                          TimeLimits limits,
                          Cancellation* cancellation = nullptr);

// Null never is.
inline bool IsCancelled(const Cancellation* cancellation) {
  return cancellation != nullptr && cancellation->cancelled();
}

// Cancelled if `cancellation` is: for a call that has not sent its requests, of
// which `method` is one.
absl::Status CheckCancelled(const Cancellation* cancellation, Method method);

// Returns at `time`, or as soon as `cancellation` is cancelled. It may be null.
Task<> SleepUntil(ServerChannels& servers, MonotonicTime time,
                  Cancellation* cancellation);

}  // namespace capstan
