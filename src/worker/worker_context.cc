#include "worker/worker_context.h"

#include <utility>

#include "base/error.h"
#include "base/run_on.h"

namespace capstan {

const std::string& WorkerContext::task() const noexcept {
  return impl_.options.task;
}

int WorkerContext::worker_index() const noexcept {
  return impl_.options.worker_index;
}

uint64_t WorkerContext::step() const noexcept { return impl_.step.id().step; }

int WorkerContext::compute_threads() const noexcept {
  return impl_.options.compute_threads;
}

bool WorkerContext::Cancelled() const noexcept {
  return impl_.step.cancelled();
}

void WorkerContext::ThrowIfCancelled() const {
  if (!Cancelled()) return;
  throw Error(ErrorCode::kCancelled, "the step was cancelled");
}

void WorkerContext::SleepFor(std::chrono::nanoseconds duration) const {
  ThrowIfError(RunOn(impl_.executor, impl_.step.Sleep(duration)));
}

Tensor WorkerContext::Read(const std::string& variable) {
  return std::move(ReadAll({variable}).front());
}

std::vector<Tensor> WorkerContext::ReadAll(
    const std::vector<std::string>& variables) {
  return ValueOrThrow(RunOn(impl_.executor, impl_.step.Read(variables)));
}

Tensor WorkerContext::ReadRows(const std::string& variable,
                               std::span<const int64_t> ids) {
  std::vector<int64_t> copy(ids.begin(), ids.end());
  return ValueOrThrow(
      RunOn(impl_.executor, impl_.step.ReadRows(variable, std::move(copy))));
}

UpdateResult WorkerContext::Apply(Operation operation,
                                  const std::vector<VariableUpdate>& updates) {
  return ValueOrThrow(
      RunOn(impl_.executor, impl_.step.Apply(operation, updates)));
}

}  // namespace capstan
