#include "simulate/closures/closure_worker.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulate/closures/closure_runner.h"
#include "simulate/closures/faulty_closures.h"
#include "simulate/closures/session_spy.h"
#include "simulate/cluster.h"
#include "transport/server.h"
#include "wire/probe_service.h"
#include "worker/worker_service.h"

namespace capstan::simulate {
namespace {

// How long after the start the last worker joins.
constexpr Duration kLastJoin = std::chrono::seconds(2);
// How long a leaving worker waits for its closures, and how often it checks.
constexpr Duration kGrace = std::chrono::milliseconds(300);
constexpr Duration kLook = std::chrono::milliseconds(5);
// How long it refuses closures after that.
constexpr Duration kGoodbye = std::chrono::milliseconds(500);

Task<> Sleep(SimNode& node, Duration duration) {
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  const MonotonicTime until =
      duration == Duration::max() ? kNever : node.clock().Now() + duration;
  co_await timer->SleepUntil(until);
}

bool JoinsLate(const ClosureContext& context, const SimNode& node,
               size_t index) {
  return node.incarnation() == 1 &&
         index >= static_cast<size_t>(context.options.workers);
}

// Leaves cleanly.
Task<> Leave(ClosureContext& context, SimNode& node, size_t index,
             WorkerService& service) {
  context.world.trace().Add(node.clock().Now(), node.name(), "leave");
  service.Leave();
  const MonotonicTime deadline = node.clock().Now() + kGrace;
  while (!service.Report().running.empty() && node.clock().Now() < deadline) {
    co_await Sleep(node, kLook);
  }
  TellOfWorker(context, index, TaskState::kMissing, node.incarnation());
  // Waits until the coordinator has heard of it: a closure sent to a process as
  // it ends is lost with it, as far as anybody knows.
  co_await Sleep(node, kGoodbye);
  KillSoon(context, node, context.options.away);
}

}  // namespace

Task<> RunClosureWorker(ClosureContext& context, SimNode& node, size_t index) {
  Random random = node.NewRandom("life");
  if (JoinsLate(context, node, index)) {
    const Duration wait(random.Between(1, kLastJoin.count()));
    co_await Sleep(node, wait);
  }
  ProbeService probe;
  const std::unique_ptr<ParameterClient> client =
      NewClosureClient(context, node, "worker", index);
  ClosureRunner runner(context, node);
  WorkerServiceOptions options;
  options.task = ClosureWorkerTask(index);
  options.incarnation = node.incarnation();
  WorkerService service(node.clock(), node.logger(), node.executor(), *client,
                        runner, options, probe);
  const std::unique_ptr<Service> faulty =
      NewFaultyWorker(service, context.plant, node);
  Service& served = faulty != nullptr ? *faulty : service;
  SessionSpy spy(served, context, node);
  ServerOptions server_options;
  server_options.self = HelloOf(node, "worker", index);
  std::vector<Executor> executors = {node.executor()};
  const absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(
      node.clock(), node.network(), node.logger(), spy, std::move(executors),
      ClosureWorkerAddress(index), std::move(server_options));
  if (!server.ok()) {
    context.judge.Violation(
        absl::StrCat(node.name(), ": ", server.status().ToString()));
    co_return;
  }
  TellOfWorker(
      context, index,
      node.incarnation() == 1 ? TaskState::kHealthy : TaskState::kRestarted,
      node.incarnation());
  const Duration life = context.options.worker_life;
  if (life > Duration::zero()) {
    const Duration rest(random.Between(1, 2 * life.count()));
    co_await Sleep(node, rest);
    if (!context.finishing) co_await Leave(context, node, index, service);
  }
  co_await Sleep(node, Duration::max());
}

}  // namespace capstan::simulate
