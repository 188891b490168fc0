#include "worker/worker_context.h"

#include <utility>

#include "base/async/run_on.h"
#include "base/error.h"
#include "worker/pending_call.h"
#include "worker/variable_copy.h"

namespace capstan {
namespace {

// InvalidArgument unless `rows` has one row per id.
void CheckRowsFor(const std::string& variable, std::span<const int64_t> ids,
                  const TensorView& rows) {
  if (rows.shape().rank() > 0 &&
      rows.shape().num_rows() == static_cast<int64_t>(ids.size())) {
    return;
  }
  throw Error(ErrorCode::kInvalidArgument,
              std::to_string(ids.size()) + " rows of '" + variable +
                  "' and memory of shape " + rows.shape().ToString());
}

}  // namespace

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

PendingCall WorkerContext::StartPull(std::span<VariableCopy* const> copies) {
  std::vector<VariableCopy::State*> states;
  states.reserve(copies.size());
  for (VariableCopy* copy : copies) {
    states.push_back(&VariableCopyAccess::StateOf(*copy));
  }
  auto call = std::make_unique<PendingCall::State>();
  call->end = StartOn(impl_.executor, impl_.step.Pull(std::move(states)));
  return PendingCall(std::move(call));
}

PendingCall WorkerContext::StartReadRows(const std::string& variable,
                                         std::span<const int64_t> ids,
                                         const MutableTensorView& into) {
  CheckRowsFor(variable, ids, into);
  auto call = std::make_unique<PendingCall::State>();
  call->end =
      StartOn(impl_.executor, impl_.step.ReadRowsInto(variable, ids, into));
  return PendingCall(std::move(call));
}

uint32_t WorkerContext::ReserveUpdates(uint32_t count) {
  return impl_.step.Reserve(count);
}

PendingCall WorkerContext::StartApply(uint32_t number, Operation operation,
                                      std::span<const CopyGradient> operands,
                                      std::span<const RowGradient> rows,
                                      bool refresh) {
  std::vector<Step::Operand> items;
  items.reserve(operands.size());
  for (const CopyGradient& item : operands) {
    items.push_back({.copy = &VariableCopyAccess::StateOf(*item.copy),
                     .values = item.gradient});
  }
  for (const RowGradient& row : rows) {
    CheckRowsFor(row.variable, row.ids, row.gradient);
  }
  std::vector<RowGradient> row_items(rows.begin(), rows.end());
  auto call = std::make_unique<PendingCall::State>();
  call->end = StartOn(impl_.executor,
                      impl_.step.Push(number, operation, std::move(items),
                                      std::move(row_items), refresh));
  return PendingCall(std::move(call));
}

PendingCall WorkerContext::StartFindGlobalClip(
    std::span<const std::string> variables, bool& found) {
  auto call = std::make_unique<PendingCall::State>();
  call->end =
      StartOn(impl_.executor, impl_.step.FindGlobalClip(variables, found));
  return PendingCall(std::move(call));
}

}  // namespace capstan
