// The seam to the user's code: how a worker runs functions and makes resources.
// In production on compute threads (compute_runner.h), in simulation as
// coroutines.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/async/task.h"
#include "base/status.h"
#include "capstan/dataset.h"
#include "capstan/function.h"
#include "worker/step.h"

namespace capstan {

// Called on the worker's executor. Many calls may be in flight at once.
class Runner {
 public:
  virtual ~Runner() = default;

  // What the program defines; constant.
  virtual const std::vector<FunctionInfo>& functions() const = 0;
  virtual const std::vector<ResourceInfo>& resources() const = 0;
  // How many functions run at once.
  virtual uint32_t concurrency() const = 0;

  // Runs function `index` to completion and returns its result or its error.
  // What is passed by reference outlives the task.
  virtual Task<absl::StatusOr<EncodedValue>> Run(
      uint32_t index, Step& step, const EncodedValue& arguments,
      const ResourceFinder& finder) = 0;
  virtual Task<absl::StatusOr<std::shared_ptr<void>>> Make(
      uint32_t index, InputContext input) = 0;
};

}  // namespace capstan
