// The program of a server node in the request_reply workload.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simulate/cluster.h"
#include "simulate/requests/request_service.h"
#include "transport/server.h"

namespace capstan::simulate {
namespace {

constexpr Duration kPoll = std::chrono::milliseconds(25);
// How long a server may still know of clients that have left. A connection that
// ended without a goodbye is closed after a period of silence.
constexpr Duration kTimeToRest = std::chrono::seconds(10);

ServerOptions DrawOptions(const RequestContext& context, SimNode& node,
                          size_t index) {
  Random random = node.NewRandom("server options");
  ServerOptions options;
  options.self = HelloOf(node, "server", index);
  // Small enough that requests wait for memory and for their turn, but large
  // enough for each of them: the largest, and what may accompany it.
  const uint64_t largest = context.options.plan.max_large + (256 << 10);
  options.connection_bytes = largest + random.Below(4 << 20);
  options.total_bytes = 2 * largest + random.Below(16 << 20);
  options.max_requests_per_connection = static_cast<int>(random.Between(2, 32));
  return options;
}

// What the counters of a server among honest peers must never show.
void CheckCounters(RequestContext& context, const SimNode& node,
                   const Server& server) {
  const ServerCounters& counters = server.counters();
  if (counters.malformed > 0) {
    context.judge.Violation(
        0, absl::StrCat("(of any kind) was malformed, says ", node.name()));
  }
  if (counters.connections_refused > 0) {
    context.judge.Violation(
        0, absl::StrCat("(of any kind) was refused, says ", node.name()));
  }
}

void CheckRest(RequestContext& context, const SimNode& node,
               const Server& server) {
  const ServerCounters& counters = server.counters();
  if (counters.connections_open == 0 && counters.bytes_in_flight == 0) return;
  context.judge.Violation(
      0, absl::StrCat("left ", counters.connections_open.load(),
                      " connections and ", counters.bytes_in_flight.load(),
                      " bytes behind at ", node.name()));
}

// Waits until the server must stop. True if it stops for good.
Task<bool> AwaitStop(RequestContext& context, SimNode& node,
                     const Server& server, MonotonicTime stop) {
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  while (context.phase != Phase::kLeave) {
    const MonotonicTime next = node.clock().Now() + kPoll;
    co_await timer->SleepUntil(next);
    CheckCounters(context, node, server);
    const bool load = context.phase == Phase::kLoad;
    if (load && node.clock().Now() >= stop) co_return false;
  }
  // The clients have left; nothing of theirs may remain.
  const MonotonicTime patience = node.clock().Now() + kTimeToRest;
  while (server.counters().connections_open > 0 &&
         node.clock().Now() < patience) {
    const MonotonicTime next = node.clock().Now() + kPoll;
    co_await timer->SleepUntil(next);
  }
  CheckRest(context, node, server);
  co_return true;
}

}  // namespace

Task<> RunRequestServer(RequestContext& context, SimNode& node,
                        Network& network, RequestService& service, size_t index,
                        bool& done) {
  Random random = node.NewRandom("server");
  const std::string address = ServerAddress(index);
  bool last = false;
  while (!last) {
    std::vector<Executor> executors = {node.executor()};
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(
        node.clock(), network, node.logger(), service, std::move(executors),
        address, DrawOptions(context, node, index));
    if (!server.ok()) {
      context.judge.Violation(
          0, absl::StrCat("cannot be served: ", server.status().ToString()));
      co_return;
    }
    const int64_t life = context.options.server_life.count();
    const MonotonicTime stop =
        life == 0 ? kNever
                  : node.clock().Now() + Duration(random.Between(1, 2 * life));
    last = co_await AwaitStop(context, node, **server, stop);
    const MonotonicTime deadline =
        node.clock().Now() + Duration(random.Between(0, 300'000'000));
    co_await (*server)->Shutdown(deadline);
    CheckCounters(context, node, **server);
    CheckRest(context, node, **server);
  }
  done = true;
}

}  // namespace capstan::simulate
