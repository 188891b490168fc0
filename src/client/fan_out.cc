#include "client/fan_out.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/event.h"

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

// What a failed errand ends with that was cancelled. Names the same task.
absl::Status CancelledErrand(const Channel& channel, const Errand& errand) {
  std::string message = absl::StrCat(
      NameOf(errand.method), " cancelled while waiting for ", channel.peer());
  // Else the channel says that it was cancelled, and no more.
  if (!absl::IsCancelled(errand.status)) {
    absl::StrAppend(
        &message, " (before that: ", std::string(errand.status.message()), ")");
  }
  return WithTask(absl::CancelledError(message), TaskOf(errand.status));
}

Task<> Run(ServerChannels& servers, Errand& errand, TimeLimits limits,
           Cancellation* cancellation) {
  errand.status = CheckCancelled(cancellation, errand.method);
  if (!errand.status.ok()) co_return;
  Channel& channel = *servers.channels[errand.server];
  std::optional<Backoff> backoff;
  // When to give up, once it has failed.
  std::optional<MonotonicTime> until;
  do {
    const MonotonicTime sent = servers.clock.Now();
    CallOptions options;
    options.timeout = until ? *until - sent : limits.timeout;
    if (limits.deadline != kNever) options.limit = limits.deadline - sent;
    options.receive_into = errand.receive_into;
    options.reply_limit = errand.reply_limit;
    options.cancellation = cancellation;
    std::string body = errand.body;
    std::vector<Bytes> attachments = errand.attachments;
    absl::StatusOr<Reply> reply =
        co_await channel.Call(errand.method, std::move(body),
                              std::move(attachments), std::move(options));
    errand.status = reply.status();
    if (reply.ok()) errand.reply = *std::move(reply);
    if (!absl::IsUnavailable(errand.status)) break;
    if (IsCancelled(cancellation)) break;
    if (!backoff) {
      backoff.emplace(servers.backoff, servers.random.Fork(errand.server));
    }
    const MonotonicTime now = servers.clock.Now();
    if (!until || now - sent > limits.timeout) until = now + limits.timeout;
    const MonotonicTime again = now + backoff->Next();
    if (again >= std::min(*until, limits.deadline)) break;
    co_await SleepUntil(servers, again, cancellation);
  } while (!IsCancelled(cancellation));
  if (!errand.status.ok() && IsCancelled(cancellation)) {
    errand.status = CancelledErrand(channel, errand);
  }
}

// Shared by the errands, as the last of them wakes the caller.
struct Countdown {
  explicit Countdown(const Executor& executor) : done(executor) {}
  size_t left = 0;
  Event done;
};

Task<> RunCounted(ServerChannels& servers, Errand& errand, TimeLimits limits,
                  Cancellation* cancellation,
                  std::shared_ptr<Countdown> count) {
  co_await Run(servers, errand, limits, cancellation);
  if (--count->left == 0) count->done.Set();
}

// How much a status says of what became of several errands.
int WeightOf(const absl::Status& status) {
  if (status.ok()) return 0;
  if (absl::IsAborted(status)) return 1;
  return absl::IsCancelled(status) ? 3 : 2;
}

}  // namespace

Task<absl::Status> FanOut(ServerChannels& servers, std::span<Errand> errands,
                          TimeLimits limits, Cancellation* cancellation) {
  if (errands.empty()) co_return absl::OkStatus();
  if (errands.size() > 1) {
    auto count = std::make_shared<Countdown>(servers.executor);
    count->left = errands.size();
    for (Errand& errand : errands) {
      Spawn(servers.executor,
            RunCounted(servers, errand, limits, cancellation, count));
    }
    co_await count->done.Wait();
  } else {
    co_await Run(servers, errands[0], limits, cancellation);
  }
  absl::Status worst;
  for (const Errand& errand : errands) {
    if (WeightOf(errand.status) > WeightOf(worst)) worst = errand.status;
  }
  if (IsCancelled(cancellation) && !absl::IsCancelled(worst)) {
    // All had been answered, but nobody had been told.
    co_return absl::CancelledError(
        absl::StrCat(NameOf(errands[0].method), " cancelled at its end"));
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
