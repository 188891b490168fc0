#include "launch/worker_part.h"

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "base/async/run_on.h"
#include "launch/server_channels.h"

namespace capstan {
namespace {

ComputeRunnerOptions RunnerOptions(const TaskHost& host) {
  const TaskOptions& options = host.options();
  ComputeRunnerOptions runner;
  runner.task = host.name();
  runner.worker_index = options.cluster.task->index;
  runner.concurrency = options.concurrency;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  runner.compute_threads = options.compute_threads > 0
                               ? options.compute_threads
                               : std::max(1, cores / runner.concurrency);
  return runner;
}

}  // namespace

WorkerPart::WorkerPart(TaskHost& host,
                       std::shared_ptr<const DefinitionList> definitions,
                       Service& next)
    : host_(host),
      runner_(std::make_unique<ComputeRunner>(
          host.executor(), std::move(definitions), RunnerOptions(host))) {
  CallOn(host_.executor(), [&] {
    client_ = NewParameterClient(host_);
    WorkerServiceOptions options;
    options.task = host_.name();
    options.incarnation = host_.self().incarnation;
    service_ = std::make_unique<WorkerService>(
        host_.clock(), host_.logger(), host_.executor(), *client_, *runner_,
        std::move(options), next);
  });
}

WorkerPart::~WorkerPart() = default;

void WorkerPart::Stop() {
  if (runner_ == nullptr) return;
  Leave(Duration::zero());
  // Functions may still need the executor and the client to finish.
  runner_ = nullptr;
}

size_t WorkerPart::Leave(Duration grace) {
  CallOn(host_.executor(), [this] { service_->Leave(); });
  return runner_->AwaitIdle(grace);
}

}  // namespace capstan
