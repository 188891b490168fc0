// Runs the functions of the closures workload as coroutines.
#pragma once

#include <vector>

#include "simulate/closures/closure_call.h"
#include "simulate/closures/closure_context.h"
#include "worker/runner.h"

namespace capstan::simulate {

// Lives on the node's executor.
class ClosureRunner final : public Runner {
 public:
  ClosureRunner(ClosureContext& context, SimNode& node);

  const std::vector<FunctionInfo>& functions() const override {
    return functions_;
  }
  const std::vector<ResourceInfo>& resources() const override {
    return resources_;
  }
  uint32_t concurrency() const override {
    return static_cast<uint32_t>(context_.options.concurrency);
  }
  Task<absl::StatusOr<EncodedValue>> Run(uint32_t index, Step& step,
                                         const EncodedValue& arguments,
                                         const ResourceFinder& finder) override;
  Task<absl::StatusOr<std::shared_ptr<void>>> Make(uint32_t index,
                                                   InputContext input) override;

 private:
  Task<absl::Status> Read(Step& step, size_t number);
  Task<absl::Status> ReadByRows(Step& step, size_t number);
  Task<absl::Status> Compute(Step& step);
  Task<absl::Status> Update(Step& step, ClosureCall call);

  ClosureContext& context_;
  SimNode& node_;
  Random random_;
  std::vector<FunctionInfo> functions_;
  std::vector<ResourceInfo> resources_;
};

}  // namespace capstan::simulate
