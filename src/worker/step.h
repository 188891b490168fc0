// One run of a closure: what it reads and updates is sent under its step's id,
// and stops when the step is cancelled.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/async/cancellation.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"
#include "client/by_name.h"
#include "client/parameter_client.h"
#include "wire/closure.h"
#include "worker/variable_copy.h"

namespace capstan {

// Lives on the executor of its client, except for what is marked thread-safe.
class Step {
 public:
  // What is passed by reference must outlive the step. `id` is that of the
  // step's first update.
  Step(Clock& clock, ParameterClient& client, const UpdateId& id,
       const FunctionInfo& function);

  // Reads variables; see client/by_name.h for the errors. Cancelled as soon as
  // the step is.
  Task<absl::StatusOr<std::vector<Tensor>>> Read(
      std::vector<std::string> variables);
  Task<absl::StatusOr<Tensor>> ReadRows(std::string variable,
                                        std::vector<int64_t> ids);
  // The next update of the step. FailedPrecondition in a function that only
  // reads.
  Task<absl::StatusOr<UpdateResult>> Apply(Operation operation,
                                           std::vector<VariableUpdate> updates);
  // Brings copies up to date. Here and below, copies belong to the call until
  // it returns, as does everything that is passed as a view.
  Task<absl::Status> Pull(std::vector<VariableCopy::State*> copies);
  Task<absl::Status> ReadRowsInto(std::string variable,
                                  std::span<const int64_t> ids,
                                  MutableTensorView into);

  // Reserves `count` update numbers and returns the first. Thread-safe.
  uint32_t Reserve(uint32_t count) { return next_update_.fetch_add(count); }
  // Sends update `number`, which was reserved: of copies, which receive the
  // values after it if `refresh` is set, and of rows.
  struct Operand {
    VariableCopy::State* copy;
    TensorView values;
  };
  Task<absl::Status> Push(uint32_t number, Operation operation,
                          std::vector<Operand> operands,
                          std::vector<RowGradient> rows, bool refresh);
  // Sets `found` if one of the variables is clipped by the norm of the whole
  // gradient.
  Task<absl::Status> FindGlobalClip(std::span<const std::string> variables,
                                    bool& found);

  // Cancelled as soon as the step is, OK after `duration`.
  Task<absl::Status> Sleep(Duration duration);

  // Ends what the step waits for.
  void Cancel();
  // Thread-safe.
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

  // The step now has a thread to run on.
  void Start() { started_ = true; }
  bool started() const { return started_; }
  RunningClosure Report() const;

  // Constant; thread-safe.
  const UpdateId& id() const { return id_; }
  const FunctionInfo& function() const { return function_; }

 private:
  class Wait;

  // FailedPrecondition if the function only reads.
  absl::Status CheckUpdates(const std::string& variable) const;
  // The ids of the copies' variables, after checking that the copies match
  // them.
  Task<absl::StatusOr<std::vector<uint32_t>>> FindCopies(
      std::vector<VariableCopy::State*> copies);
  // Makes sure that the client knows the step's generation.
  Task<absl::Status> Prepare();
  ReadOptions Reading();

  Clock& clock_;
  ParameterClient& client_;
  const UpdateId id_;
  const FunctionInfo& function_;
  const MonotonicTime since_;
  std::atomic<bool> cancelled_ = false;
  Cancellation cancellation_;
  std::atomic<uint32_t> next_update_ = 0;
  SeenVersions seen_;  // from what it has read
  bool started_ = false;
  // What the step waits for now, oldest first.
  std::list<const Wait*> waits_;
};

}  // namespace capstan
