#include "simulate/closures/closure_node.h"

#include <asio/post.hpp>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/cluster_spec.h"
#include "capstan/partitioner.h"
#include "simulate/closures/faulty_closures.h"
#include "simulate/closures/late_channel.h"
#include "simulate/cluster.h"

namespace capstan::simulate {
ClosureNode::ClosureNode(ClosureContext& context, SimNode& node)
    : context_(context),
      node_(node),
      random_(node.NewRandom("chief")),
      timer_(node.clock().NewTimer(node.executor())),
      changed_(node.executor()),
      client_(NewClosureClient(context, node, "chief", 0)) {
  // Each life has its own term, higher than all earlier ones.
  const CoordinatorTerm coordinator_term = {.term = node.incarnation(),
                                            .holder = node.incarnation()};
  dispatcher_ = std::make_shared<Dispatcher>(
      node.clock(), node.logger(), node.executor(),
      [coordinator_term] { return coordinator_term; }, *client_, Channels(),
      node.NewRandom("dispatcher"), Options());
  context_.on_task = [weak = std::weak_ptr<Dispatcher>(dispatcher_),
                      executor = node.executor()](const TaskEntry& entry) {
    asio::post(executor, [weak, entry] {
      const std::shared_ptr<Dispatcher> dispatcher = weak.lock();
      if (dispatcher != nullptr) dispatcher->OnTask(entry);
    });
  };
  if (node.incarnation() > 1) TellOfAllWorkers(context_);
  if (context_.options.roster) StartRoster();
}

void ClosureNode::StartRoster() {
  ClusterSpec::Jobs jobs;
  jobs[Role::kChief][0] = "chief:7000";
  for (int i = 0; i < context_.options.servers; ++i) {
    jobs[Role::kPs][i] = absl::StrCat("server", i, ":7000");
  }
  RosterOptions options;
  options.self = HelloOf(node_, "chief", 0);
  options.on_change = [this](const TaskEntry& entry) {
    context_.world.trace().Add(Now(), node_.name(), TaskStateName(entry.state),
                               entry.since_ms);
    dispatcher_->OnTask(entry);
  };
  const auto new_channel = [&node = node_](const TaskId& task,
                                           const std::string& address) {
    return NewClosureChannel(node, "chief", 0, task.ToString(),
                             absl::StrCat("sim:", address),
                             /*fail_if_refused=*/true);
  };
  roster_ = std::make_unique<Roster>(
      node_.clock(), node_.logger(), node_.executor(),
      ClusterSpec::FromDict(std::move(jobs)), std::move(options), new_channel);
  roster_->Start();
}

ClosureNode::~ClosureNode() { context_.on_task = nullptr; }

DispatcherOptions ClosureNode::Options() {
  const ClosureOptions& options = context_.options;
  DispatcherOptions dispatcher;
  dispatcher.queue_capacity = static_cast<size_t>(options.queue);
  dispatcher.poison_limit = static_cast<size_t>(options.poison_limit);
  dispatcher.queued_per_worker =
      static_cast<uint32_t>(options.queued_per_worker);
  dispatcher.server_timeout = options.server_timeout;
  dispatcher.on_change = [this] { changed_.Set(); };
  return dispatcher;
}

Dispatcher::NewChannel ClosureNode::Channels() {
  return [&context = context_, &node = node_, memory = NewRetryMemory()](
             const std::string& task, const std::string& address) {
    std::unique_ptr<Channel> channel =
        NewClosureChannel(node, "chief", 0, task, address);
    channel = NewLateChannel(std::move(channel), context, node, task);
    return NewFaultyWorkerChannel(std::move(channel), context.plant, memory);
  };
}

Task<> ClosureNode::Sleep(Duration most) {
  const MonotonicTime until =
      Now() + Duration(random_.Between(0, most.count()));
  co_await timer_->SleepUntil(until);
}

Task<> ClosureNode::Rest(Duration duration) {
  const MonotonicTime until = Now() + duration;
  co_await timer_->SleepUntil(until);
}

Task<> ClosureNode::Change() { co_await changed_.Wait(); }

Task<> ClosureNode::CreateVariables() {
  context_.progress = "the variables are not made";
  absl::Status status = absl::UnknownError("");
  while (!status.ok()) {
    std::vector<VariableSpec> specs = context_.variables.Specs();
    Partitioner partitioner =
        FixedShards(static_cast<int64_t>(context_.variables.shards()));
    status =
        co_await variables().Create(std::move(specs), std::move(partitioner));
    if (!status.ok()) co_await Sleep(kTick);
  }
}

Task<> ClosureNode::ReadTable(size_t table, bool final) {
  std::vector<std::string> names;
  for (const auto variable : {DigitVariable::kDense, DigitVariable::kRows}) {
    names.push_back(context_.variables.NameOf(variable, table));
  }
  absl::StatusOr<std::vector<Tensor>> tensors = absl::UnknownError("");
  while (!tensors.ok()) {
    const ClosureJudge::View view = context_.judge.OnReadBegin(table);
    std::vector<std::string> copy = names;
    tensors = co_await variables().Read(std::move(copy), Duration::max());
    if (!tensors.ok()) {
      co_await Sleep(kTick);
      continue;
    }
    for (size_t i = 0; i < tensors->size(); ++i) {
      const auto variable = static_cast<DigitVariable>(i);
      const std::span<const float> values = (*tensors)[i].Values<float>();
      context_.judge.OnRead(view, table, variable, values, std::nullopt);
      if (final) context_.judge.OnFinal(table, variable, values);
    }
  }
}

Task<> ClosureNode::AwaitWatermark(uint64_t last) {
  for (uint32_t i = 0; i < client_->num_servers(); ++i) {
    context_.progress = absl::StrCat("the watermark of server ", i,
                                     " does not reach step ", last);
    uint64_t watermark = 0;
    while (watermark < last) {
      const absl::StatusOr<StoreReport> report = co_await client_->Status(i);
      if (report.ok()) watermark = report->watermark;
      if (watermark < last) co_await Sleep(kTick);
    }
    if (watermark > last) {
      context_.judge.Violation(
          absl::StrCat("the watermark of server ", i, " is ", watermark,
                       ", but there are only ", last, " steps"));
    }
  }
}

void ClosureNode::OnPut(size_t number,
                        const ClosureQueue::ClosurePtr& closure) {
  context_.world.trace().Add(Now(), node_.name(), "put", number, closure->step);
  context_.judge.OnPut(number);
  // Weak, so that a closure does not keep itself alive when this life is cut
  // off.
  std::weak_ptr<Closure> weak = closure;
  queue().Then(*closure, [&context = context_, number, weak, &node = node_] {
    const ClosureQueue::ClosurePtr ended = weak.lock();
    if (ended == nullptr) return;
    context.world.trace().Add(node.clock().Now(), node.name(), "ended", number,
                              static_cast<uint64_t>(ended->status.code()));
    context.judge.OnEnded(number);
  });
}

}  // namespace capstan::simulate
