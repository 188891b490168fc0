#include "worker/compute_runner.h"

#include <utility>

#include "base/error.h"
#include "worker/worker_context.h"

namespace capstan {

ComputeRunner::ComputeRunner(const Executor& executor,
                             std::shared_ptr<const DefinitionList> definitions,
                             ComputeRunnerOptions options)
    : executor_(executor),
      definitions_(std::move(definitions)),
      options_(std::move(options)),
      threads_(options_.concurrency) {
  for (const FunctionDefinition& function : definitions_->functions) {
    functions_.push_back(*function.info);
  }
  for (const ResourceDefinition& resource : definitions_->resources) {
    resources_.push_back(*resource.info);
  }
}

ComputeRunner::~ComputeRunner() = default;

Task<absl::StatusOr<EncodedValue>> ComputeRunner::Run(
    uint32_t index, Step& step, const EncodedValue& arguments,
    const ResourceFinder& finder) {
  absl::StatusOr<EncodedValue> result = absl::UnknownError("not run");
  const FunctionDefinition& function = definitions_->functions[index];
  std::function<void()> work = [&] {
    WorkerContextHost host(executor_, step, options_);
    try {
      result = function.run(host.context(), arguments, finder);
    } catch (...) {
      result = StatusOfCurrentException();
    }
  };
  co_await threads_.Run(std::move(work));
  co_return result;
}

Task<absl::StatusOr<std::shared_ptr<void>>> ComputeRunner::Make(
    uint32_t index, InputContext input) {
  absl::StatusOr<std::shared_ptr<void>> result = absl::UnknownError("not made");
  const ResourceDefinition& resource = definitions_->resources[index];
  std::function<void()> work = [&] {
    try {
      result = resource.make(input);
    } catch (...) {
      result = StatusOfCurrentException();
    }
  };
  co_await threads_.Run(std::move(work));
  co_return result;
}

}  // namespace capstan
