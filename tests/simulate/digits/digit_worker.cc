#include "simulate/digits/digit_worker.h"

#include <memory>
#include <optional>
#include <utility>

#include "simulate/digits/digit_client.h"

namespace capstan::simulate {
namespace {

constexpr Duration kIdle = std::chrono::milliseconds(20);

// One life of a worker. Shared by its coroutines.
struct Worker {
  Worker(DigitContext& context_in, SimNode& node_in)
      : context(context_in), node(node_in) {}

  DigitContext& context;
  SimNode& node;
  std::unique_ptr<ParameterClient> client;
  // In production the coordinator ends the clocks; here each worker does so in
  // its name, as soon as its step is done. Null if there are no clocks.
  std::unique_ptr<ParameterClient> ticker;
};

Task<> Pause(std::shared_ptr<Worker> worker, Duration duration) {
  std::unique_ptr<Timer> timer =
      worker->node.clock().NewTimer(worker->node.executor());
  const MonotonicTime until = worker->node.clock().Now() + duration;
  co_await timer->SleepUntil(until);
}

// Whether the worker knows the generation of the step.
Task<bool> KnowsGeneration(std::shared_ptr<Worker> worker,
                           uint64_t generation) {
  if (worker->client->map()->generation() < generation) {
    const Duration timeout = worker->context.options.timeout;
    const absl::Status status = co_await worker->client->Refresh(timeout);
    if (!status.ok()) worker->context.judge.OnFailure(status);
  }
  co_return worker->client->map()->generation() >= generation;
}

// Tells the servers that the replica has finished its clock.
Task<bool> TickClock(std::shared_ptr<Worker> worker, Assignment assignment) {
  if (worker->ticker == nullptr) co_return true;
  RoundRequest request;
  request.fence = assignment.fence;
  request.round = assignment.round;
  request.replicas = {assignment.replica};
  UpdateOptions options;
  options.timeout = worker->context.options.timeout;
  const absl::Status status =
      co_await worker->ticker->Tick(std::move(request), options);
  if (!status.ok()) worker->context.judge.OnFailure(status);
  co_return status.ok();
}

// Sends the updates of a step. True if the step is finished.
Task<bool> SendAll(std::shared_ptr<Worker> worker, Assignment assignment) {
  DigitContext& context = worker->context;
  const auto pushes = static_cast<uint32_t>(context.options.pushes);
  for (uint32_t push = 0; push < pushes; ++push) {
    const absl::StatusOr<UpdateResult> summary = co_await SendUpdate(
        context, worker->node, *worker->client, assignment, push);
    if (!summary.ok()) co_return false;
    // The round was committed without it.
    if (summary->dropped > 0) co_return true;
  }
  const bool ticked = co_await TickClock(worker, assignment);
  if (ticked) context.ledger.Done(assignment);
  co_return ticked;
}

Task<> SendCopy(std::shared_ptr<Worker> worker, Assignment assignment) {
  co_await SendAll(worker, assignment);
}

Duration DrawPause(const DigitOptions& options, Random& random) {
  const Duration most =
      random.Chance(options.stragglers) ? options.straggle : options.pause;
  return Duration(random.Between(0, most.count()));
}

Task<bool> DoStep(std::shared_ptr<Worker> worker, Assignment assignment,
                  DigitValues& values, Random& random) {
  DigitContext& context = worker->context;
  const bool knows =
      co_await KnowsGeneration(worker, assignment.fence.generation);
  if (!knows) co_return false;
  // Sometimes reads everything from scratch, and sometimes by rows.
  if (random.Chance(0.3)) values = context.variables.NewValues();
  ReadPlan plan;
  plan.round = assignment.round;
  plan.by_rows = random.Chance(0.2);
  const absl::Status status =
      co_await ReadDigits(context, *worker->client, plan, values);
  if (!status.ok()) co_return false;
  const Duration pause = DrawPause(context.options, random);
  co_await Pause(worker, pause);
  if (random.Chance(context.options.twice)) {
    Spawn(worker->node.executor(), SendCopy(worker, assignment));
  }
  co_return co_await SendAll(worker, assignment);
}

Task<> RunLane(std::shared_ptr<Worker> worker, Random random) {
  DigitContext& context = worker->context;
  DigitValues values = context.variables.NewValues();
  while (!context.over) {
    const std::optional<Assignment> assignment =
        context.ledger.Take(worker->node.clock().Now());
    if (assignment) {
      const bool done = co_await DoStep(worker, *assignment, values, random);
      if (!done) context.ledger.GiveBack(*assignment);
      if (done) continue;
    }
    const Duration idle = Duration(random.Between(0, kIdle.count()));
    co_await Pause(worker, idle);
  }
}

}  // namespace

Task<> RunDigitWorker(DigitContext& context, SimNode& node, size_t index) {
  auto worker = std::make_shared<Worker>(context, node);
  worker->client = NewDigitClient(context, node, "worker", index);
  if (context.options.bounded()) {
    worker->ticker = NewDigitClient(context, node, "chief", index);
  }
  const Random random = node.NewRandom("lanes");
  for (int i = 0; i < context.options.lanes; ++i) {
    Spawn(node.executor(),
          RunLane(worker, random.Fork(static_cast<uint64_t>(i))));
  }
  co_return;
}

}  // namespace capstan::simulate
