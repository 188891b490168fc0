#include "client/fan_out.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/event.h"

namespace capstan {
namespace {

Task<> Run(ServerChannels& servers, Errand& errand, MonotonicTime deadline) {
  Channel& channel = *servers.channels[errand.server];
  std::optional<Backoff> backoff;
  while (true) {
    CallOptions options;
    options.timeout = deadline - servers.clock.Now();
    options.receive_into = errand.receive_into;
    options.reply_limit = errand.reply_limit;
    std::string body = errand.body;
    std::vector<Bytes> attachments = errand.attachments;
    absl::StatusOr<Reply> reply =
        co_await channel.Call(errand.method, std::move(body),
                              std::move(attachments), std::move(options));
    errand.status = reply.status();
    if (reply.ok()) errand.reply = *std::move(reply);
    if (!absl::IsUnavailable(errand.status)) co_return;
    if (!backoff) {
      backoff.emplace(servers.backoff, servers.random.Fork(errand.server));
    }
    const MonotonicTime again = servers.clock.Now() + backoff->Next();
    if (again >= deadline) co_return;
    const std::unique_ptr<Timer> timer =
        servers.clock.NewTimer(servers.executor);
    co_await timer->SleepUntil(again);
  }
}

// Shared by the errands, as the last of them wakes the caller.
struct Countdown {
  explicit Countdown(const Executor& executor) : done(executor) {}
  size_t left = 0;
  Event done;
};

Task<> RunCounted(ServerChannels& servers, Errand& errand,
                  MonotonicTime deadline, std::shared_ptr<Countdown> count) {
  co_await Run(servers, errand, deadline);
  if (--count->left == 0) count->done.Set();
}

}  // namespace

Task<absl::Status> FanOut(ServerChannels& servers, std::span<Errand> errands,
                          MonotonicTime deadline) {
  if (errands.size() > 1) {
    auto count = std::make_shared<Countdown>(servers.executor);
    count->left = errands.size();
    for (Errand& errand : errands) {
      Spawn(servers.executor, RunCounted(servers, errand, deadline, count));
    }
    co_await count->done.Wait();
  } else if (errands.size() == 1) {
    co_await Run(servers, errands[0], deadline);
  }
  absl::Status worst;
  for (const Errand& errand : errands) {
    if (errand.status.ok()) continue;
    if (worst.ok() || absl::IsAborted(worst)) worst = errand.status;
  }
  co_return worst;
}

}  // namespace capstan
