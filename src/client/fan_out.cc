#include "client/fan_out.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/async/event.h"

namespace capstan {
namespace {

// For messages.
std::string NameOf(Method method) {
  switch (method) {
    case Method::kInstall:
      return "install";
    case Method::kShardMap:
      return "request for the shard map";
    case Method::kPull:
      return "pull";
    case Method::kPush:
    case Method::kScatter:
      return "update";
    case Method::kGather:
      return "gather";
    case Method::kRead:
      return "read";
    case Method::kCommit:
      return "commit";
    case Method::kTick:
      return "tick";
    case Method::kWatermark:
      return "watermark";
    case Method::kStoreStatus:
      return "request for the status";
    case Method::kSnapshot:
      return "snapshot";
    case Method::kSnapshotRead:
      return "read of a snapshot";
    case Method::kSnapshotWrite:
      return "write of a snapshot";
    case Method::kSnapshotDrop:
      return "drop of a snapshot";
    case Method::kStageRows:
    case Method::kStageFile:
      return "restore";
    case Method::kStageCommit:
      return "commit of a restore";
    case Method::kStageDrop:
      return "drop of a restore";
    default:
      return "call";
  }
}

// The error of a failed request that was cancelled. Names the same task.
absl::Status CancelledRequest(const Channel& channel,
                              const ServerRequest& server_request) {
  std::string message =
      absl::StrCat(NameOf(server_request.method),
                   " cancelled while waiting for ", channel.peer());
  // Otherwise the channel's error says only that it was cancelled.
  if (!absl::IsCancelled(server_request.status)) {
    absl::StrAppend(&message, " (before that: ",
                    std::string(server_request.status.message()), ")");
  }
  return WithTask(absl::CancelledError(message), TaskOf(server_request.status));
}

Task<> Run(ServerChannels& servers, ServerRequest& server_request,
           TimeLimits limits, Cancellation* cancellation) {
  server_request.status = CheckCancelled(cancellation, server_request.method);
  if (!server_request.status.ok()) co_return;
  Channel& channel = *servers.channels[server_request.server];
  std::optional<Backoff> backoff;
  // When to give up, once it has failed.
  std::optional<MonotonicTime> until;
  do {
    const MonotonicTime sent = servers.clock.Now();
    CallOptions options;
    options.timeout = until ? *until - sent : limits.timeout;
    if (limits.deadline != kNever) options.limit = limits.deadline - sent;
    options.receive_into = server_request.receive_into;
    options.reply_limit = server_request.reply_limit;
    options.cancellation = cancellation;
    std::string body = server_request.body;
    std::vector<Bytes> attachments = server_request.attachments;
    absl::StatusOr<Reply> reply =
        co_await channel.Call(server_request.method, std::move(body),
                              std::move(attachments), std::move(options));
    server_request.status = reply.status();
    if (reply.ok()) server_request.reply = *std::move(reply);
    if (!absl::IsUnavailable(server_request.status)) break;
    if (IsCancelled(cancellation)) break;
    if (!backoff) {
      backoff.emplace(servers.backoff,
                      servers.random.Fork(server_request.server));
    }
    const MonotonicTime now = servers.clock.Now();
    if (!until || now - sent > limits.timeout) until = now + limits.timeout;
    const MonotonicTime again = now + backoff->Next();
    if (again >= std::min(*until, limits.deadline)) break;
    co_await SleepUntil(servers, again, cancellation);
  } while (!IsCancelled(cancellation));
  if (!server_request.status.ok() && IsCancelled(cancellation)) {
    server_request.status = CancelledRequest(channel, server_request);
  }
}

// Shared by the requests, because the last of them wakes the caller.
struct Countdown {
  explicit Countdown(const Executor& executor) : done(executor) {}
  size_t left = 0;
  Event done;
};

Task<> RunCounted(ServerChannels& servers, ServerRequest& server_request,
                  TimeLimits limits, Cancellation* cancellation,
                  std::shared_ptr<Countdown> count) {
  co_await Run(servers, server_request, limits, cancellation);
  if (--count->left == 0) count->done.Set();
}

// How telling a status is about the outcome of several requests.
int WeightOf(const absl::Status& status) {
  if (status.ok()) return 0;
  if (absl::IsAborted(status)) return 1;
  return absl::IsCancelled(status) ? 3 : 2;
}

}  // namespace

Task<absl::Status> FanOut(ServerChannels& servers,
                          std::span<ServerRequest> server_requests,
                          TimeLimits limits, Cancellation* cancellation) {
  if (server_requests.empty()) co_return absl::OkStatus();
  if (server_requests.size() > 1) {
    auto count = std::make_shared<Countdown>(servers.executor);
    count->left = server_requests.size();
    for (ServerRequest& server_request : server_requests) {
      Spawn(servers.executor,
            RunCounted(servers, server_request, limits, cancellation, count));
    }
    co_await count->done.Wait();
  } else {
    co_await Run(servers, server_requests[0], limits, cancellation);
  }
  absl::Status worst;
  for (const ServerRequest& server_request : server_requests) {
    if (WeightOf(server_request.status) > WeightOf(worst))
      worst = server_request.status;
  }
  if (IsCancelled(cancellation) && !absl::IsCancelled(worst)) {
    // Every request was answered, but the caller had not been told.
    co_return absl::CancelledError(absl::StrCat(
        NameOf(server_requests[0].method), " cancelled at its end"));
  }
  co_return worst;
}

absl::Status CheckCancelled(const Cancellation* cancellation, Method method) {
  if (!IsCancelled(cancellation)) return absl::OkStatus();
  return absl::CancelledError(
      absl::StrCat(NameOf(method), " cancelled before it was sent"));
}

Task<> SleepUntil(ServerChannels& servers, MonotonicTime time,
                  Cancellation* cancellation) {
  if (IsCancelled(cancellation)) co_return;
  const std::unique_ptr<Timer> timer = servers.clock.NewTimer(servers.executor);
  const Cancellation::Registration wake(cancellation,
                                        [&timer] { timer->Cancel(); });
  co_await timer->SleepUntil(time);
}

}  // namespace capstan
