// Sends requests to several servers and waits for all the answers.
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

// One request to one server. The memory that it refers to belongs to the caller
// of FanOut.
struct ServerRequest {
  uint32_t server = 0;
  Method method = Method::kPull;
  std::string body;
  std::vector<Bytes> attachments;
  std::optional<std::vector<MutableBytes>> receive_into;
  uint64_t reply_limit = 64 << 10;

  // The outcome.
  absl::Status status;
  Reply reply;
};

// What all calls of a client share. `channels` has one per server; they, and
// everything else, outlive the calls and live on `executor`.
struct ServerChannels {
  Clock& clock;
  Executor executor;
  std::vector<std::unique_ptr<Channel>> channels;
  Random random;
  BackoffOptions backoff;
};

// How long requests may take.
struct TimeLimits {
  // A request without progress, as in CallOptions::timeout.
  Duration timeout = std::chrono::seconds(30);
  // All of them, even if bytes still move.
  MonotonicTime deadline = kNever;
};

// Sends the requests at once. One that fails with Unavailable is sent again,
// unchanged: every request to a server may be repeated. It is given up when it
// has kept failing for `limits.timeout`; an attempt that lasted longer than
// that has moved bytes, and the time starts again.
// OK if all succeed; otherwise the most telling error: Cancelled before any
// other, and any other before Aborted, which means that the shard map is old.
// The contents of the requests are valid in either case.
//
// Once `cancellation`, which may be null, is cancelled, nothing more is sent
// and the result is Cancelled, whatever has been answered. It names a server
// that was waited for, if there was one. The requests have ended then as in any
// other case: their memory is not touched any more.
Task<absl::Status> FanOut(ServerChannels& servers,
                          std::span<ServerRequest> server_requests,
                          TimeLimits limits,
                          Cancellation* cancellation = nullptr);

// Null is never cancelled.
inline bool IsCancelled(const Cancellation* cancellation) {
  return cancellation != nullptr && cancellation->cancelled();
}

// Cancelled if `cancellation` is: for a call that has not sent its requests
// yet, of which `method` is one.
absl::Status CheckCancelled(const Cancellation* cancellation, Method method);

// Returns at `time`, or as soon as `cancellation` is cancelled. It may be null.
Task<> SleepUntil(ServerChannels& servers, MonotonicTime time,
                  Cancellation* cancellation);

}  // namespace capstan
