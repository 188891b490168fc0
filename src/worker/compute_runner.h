// Runs the functions of a program on compute threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/async/task.h"
#include "worker/compute_threads.h"
#include "worker/definitions.h"
#include "worker/runner.h"

namespace capstan {

struct ComputeRunnerOptions {
  std::string task;  // "worker/3"
  int worker_index = 0;
  int concurrency = 1;
  int compute_threads = 1;  // WorkerContext::compute_threads
};

// Lives on `executor`, whose threads must run for as long as functions do.
class ComputeRunner final : public Runner {
 public:
  ComputeRunner(const Executor& executor,
                std::shared_ptr<const DefinitionList> definitions,
                ComputeRunnerOptions options);
  // Waits for the running functions.
  ~ComputeRunner() override;

  const std::vector<FunctionInfo>& functions() const override {
    return functions_;
  }
  const std::vector<ResourceInfo>& resources() const override {
    return resources_;
  }
  uint32_t concurrency() const override {
    return static_cast<uint32_t>(options_.concurrency);
  }

  Task<absl::StatusOr<EncodedValue>> Run(uint32_t index, Step& step,
                                         const EncodedValue& arguments,
                                         const ResourceFinder& finder) override;
  Task<absl::StatusOr<std::shared_ptr<void>>> Make(uint32_t index,
                                                   InputContext input) override;

  // As ComputeThreads::AwaitIdle.
  size_t AwaitIdle(Duration timeout) { return threads_.AwaitIdle(timeout); }

 private:
  const Executor executor_;
  const std::shared_ptr<const DefinitionList> definitions_;
  const ComputeRunnerOptions options_;
  std::vector<FunctionInfo> functions_;
  std::vector<ResourceInfo> resources_;
  ComputeThreads threads_;
};

}  // namespace capstan
