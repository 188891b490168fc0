#include "transport/server.h"

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/async/event.h"
#include "base/status.h"
#include "transport/deadline_queue.h"
#include "transport/server_connection.h"
#include "transport/server_core.h"

namespace capstan {
namespace {

// Pause after a failed accept (for example, out of file descriptors).
constexpr Duration kAcceptPause = std::chrono::milliseconds(20);
// How often a shutdown that waits for requests logs this.
constexpr Duration kShutdownReminder = std::chrono::seconds(1);

class ListeningServer final : public Server {
 public:
  ListeningServer(std::shared_ptr<ServerCore> core,
                  std::vector<Executor> executors,
                  std::shared_ptr<Acceptor> acceptor)
      : core_(std::move(core)),
        executors_(std::move(executors)),
        acceptor_(acceptor),
        address_(acceptor->address()) {
    Spawn(executors_[0], AcceptLoop(core_, executors_, std::move(acceptor)));
  }

  std::string address() const override { return address_; }
  const ServerCounters& counters() const override { return core_->counters; }
  std::string turned_away() const override { return core_->turned_away(); }

  Task<> Shutdown(MonotonicTime deadline) override {
    // Runs on the acceptor's executor, regardless of the caller's.
    return asio::co_spawn(
        executors_[0],
        ShutdownHere(core_, executors_[0], acceptor_.lock(), deadline),
        asio::use_awaitable);
  }

 private:
  static Task<> AcceptLoop(std::shared_ptr<ServerCore> core,
                           std::vector<Executor> executors,
                           std::shared_ptr<Acceptor> acceptor) {
    std::unique_ptr<Timer> timer = core->clock.NewTimer(executors[0]);
    for (size_t next = 0;; ++next) {
      const Executor& executor = executors[next % executors.size()];
      absl::StatusOr<std::unique_ptr<Stream>> stream =
          co_await acceptor->Accept(executor);
      if (absl::IsUnavailable(stream.status())) co_return;
      if (absl::IsPermissionDenied(stream.status())) {
        ++core->counters.connections_refused;
        core->TurnAway(acceptor->address(), stream.status());
        continue;
      }
      if (!stream.ok()) {
        core->Complain(acceptor->address(), stream.status());
        const MonotonicTime again = core->clock.Now() + kAcceptPause;
        co_await timer->SleepUntil(again);
        continue;
      }
      Begin(core, executor, *std::move(stream));
    }
  }

  static void Begin(const std::shared_ptr<ServerCore>& core,
                    const Executor& executor, std::unique_ptr<Stream> stream) {
    ++core->counters.connections_accepted;
    absl::Status refusal;
    const uint64_t open = core->counters.connections_open;
    if (open >= static_cast<uint64_t>(core->options.max_connections)) {
      refusal = absl::ResourceExhaustedError(
          absl::StrCat(TaskName(core->options.self), " has ", open,
                       " connections, its limit"));
    }
    auto connection =
        std::make_shared<ServerConnection>(core, executor, std::move(stream));
    core->Add(connection);
    Spawn(executor,
          ServerConnection::Run(std::move(connection), std::move(refusal)));
  }

  static Task<> ShutdownHere(std::shared_ptr<ServerCore> core,
                             Executor executor,
                             std::shared_ptr<Acceptor> acceptor,
                             MonotonicTime deadline) {
    if (acceptor != nullptr) acceptor->Close();
    for (const auto& connection : core->connections()) {
      asio::post(connection->executor(), [connection] { connection->Leave(); });
    }
    auto idle = std::make_shared<Event>(executor);
    core->OnIdle(
        [idle, executor] { asio::post(executor, [idle] { idle->Set(); }); });
    DeadlineQueue deadlines(core->clock, executor);
    MonotonicTime next = deadline;
    bool gone = false;
    while (!gone) {
      bool late = false;
      const DeadlineQueue::Registration limit(deadlines, next, [&late, idle] {
        late = true;
        idle->Set();
      });
      co_await idle->Wait();
      gone = core->counters.connections_open == 0;
      if (gone || !late) continue;
      const auto left = core->connections();
      for (const auto& connection : left) {
        // The peer's name may be read on the connection's own executor only.
        const bool named = next > deadline && connection == left.front();
        asio::post(connection->executor(), [core, connection, named,
                                            count = left.size()] {
          if (named) {
            core->logger.Warning(
                "shutdown: still serving requests of {} connection{}, the "
                "first from {}",
                count, count == 1 ? "" : "s", connection->description());
          }
          connection->Fail(absl::CancelledError("the server has shut down"));
        });
      }
      next = core->clock.Now() + kShutdownReminder;
    }
  }

  const std::shared_ptr<ServerCore> core_;
  const std::vector<Executor> executors_;
  // Owned by the accept loop, so that it is destroyed with its executor.
  const std::weak_ptr<Acceptor> acceptor_;
  const std::string address_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    Clock& clock, Network& network, Logger& logger, Service& service,
    std::vector<Executor> executors, const std::string& address,
    ServerOptions options) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
      network.Listen(executors.at(0), address);
  if (!acceptor.ok()) return acceptor.status();
  auto core =
      std::make_shared<ServerCore>(clock, logger, service, std::move(options));
  return std::make_unique<ListeningServer>(
      std::move(core), std::move(executors),
      std::shared_ptr<Acceptor>(*std::move(acceptor)));
}

}  // namespace capstan
